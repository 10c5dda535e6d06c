import Foundation
import Testing

/// A client that sends half a photo and then nothing (PF-5).
struct SlowUploadTests {
    @Test func `half an upload holds nobody up, and when its client goes away nothing is left`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        let form = Form(photo: try Photos.jpeg(61, width: 1_600, height: 1_200), fields: [("streak_ids", "all")]).body
        let head = """
            POST /api/photos/upload HTTP/1.1\r
            Host: 127.0.0.1\r
            Content-Type: \(Form.contentType.1)\r
            Content-Length: \(form.count)\r
            Authorization: Bearer \(ada.token)\r
            \r\n
            """
        let before = Set(home.incoming)
        var half: HalfRequest? = try HalfRequest(Array(head.utf8) + form[..<(form.count / 2)], to: home.http.port)
        try await eventually("its first half is being stored") { !Set(home.incoming).subtracting(before).isEmpty }
        #expect(half != nil)
        #expect(try await ben.upload(try Photos.jpeg(62)).status == 201, "others are served")
        half = nil
        try await eventually("nothing of it is left") { home.incoming.isEmpty }
        #expect(try await home.sql("SELECT count(*) FROM media.snap_operation WHERE user_id = '\(ada.id)'") == "0")
    }
}
