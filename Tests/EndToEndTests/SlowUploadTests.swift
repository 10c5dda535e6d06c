import Foundation
import TestSupport
import Testing

/// Clients that send half a photo and then nothing, or next to nothing (PF-5).
struct SlowUploadTests {
    @Test func `half an upload holds no other up, and when its client goes away nothing is left`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        let (sent, _) = try Self.halves(of: 61, by: ada)
        let before = Set(home.incoming)
        var half: HalfRequest? = try HalfRequest(sent, to: home.http.port)
        try await eventually("its first half is being stored") { !Set(home.incoming).subtracting(before).isEmpty }
        // Those of other tests may be among them; they go too.
        let there = Set(home.incoming)
        #expect(half != nil)
        #expect(try await ben.upload(try Photos.jpeg(62)).status == 201, "others are served")
        half = nil
        try await eventually("nothing of it is left") { there.isDisjoint(with: home.incoming) }
        try await BadUploadTests.expectNothing(of: ada)
    }

    @Test func `a client that sends too slowly is refused, a silent one is cut off, and nothing is left`() async throws {
        let limits = ["STREAKSNAP_HTTP_BODY_TIMEOUT": "4", "STREAKSNAP_HTTP_IDLE_TIMEOUT": "2"]
        let home = try await Installation(environment: limits)
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        var (sent, rest) = try Self.halves(of: 63, by: ada)
        let slow = try HalfRequest(sent, to: home.http.port)
        try await eventually("its first half is being stored") { !home.incoming.isEmpty }
        try await eventually("a byte at a time is too slow") {
            if slow.send(rest.prefix(1)) == 1 { rest = rest.dropFirst() }
            return slow.answer().isClosed
        }
        #expect(slow.answer().text.hasPrefix("HTTP/1.1 408 "), "\(slow.answer().text)")
        #expect(slow.answer().text.contains("\"REQUEST_TIMEOUT\""), "\(slow.answer().text)")
        #expect(!rest.isEmpty)
        try await BadUploadTests.expectNothing(of: ada)

        (sent, rest) = try Self.halves(of: 64, by: ada)
        let silent = try HalfRequest(sent, to: home.http.port)
        try await eventually("it is cut off") { silent.answer().isClosed }
        try await BadUploadTests.expectNothing(of: ada)
        #expect(try await ada.upload(try Photos.jpeg(65)).status == 201, "another try is as good as the first")
        await home.guardian.end()
    }

    /// An upload in two pieces.
    private static func halves(of seed: UInt64, by author: Person) throws -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
        let form = Form(photo: try Photos.jpeg(seed, width: 1_600, height: 1_200), fields: [("streak_ids", "all")]).body
        let head = """
            POST /api/photos/upload HTTP/1.1\r
            Host: 127.0.0.1\r
            Content-Type: \(Form.contentType.1)\r
            Content-Length: \(form.count)\r
            Authorization: Bearer \(author.token)\r
            \r\n
            """
        let whole = Array(head.utf8) + form
        return (whole[..<(whole.count / 2)], whole[(whole.count / 2)...])
    }
}
