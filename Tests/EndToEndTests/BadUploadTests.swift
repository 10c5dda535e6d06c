import Foundation
import Images
import TestSupport
import Testing

/// Uploads that are wrong: refused with the reason, and not a byte stays.
struct BadUploadTests {
    /// One wrong upload.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: @Sendable () throws -> [UInt8]
        var contentType = Form.contentType.1
        var status = 400
        let code: String
        var fields: Set<String>?
        /// What the message must say.
        var says = ""
    }

    private static func form(_ photo: [UInt8]?, _ fields: [(String, String)] = [("streak_ids", "all")]) -> [UInt8] {
        Form(photo: photo, fields: fields).body
    }

    private static let svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10\" height=\"10\"><rect width=\"10\" height=\"10\"/></svg>"

    static let cases: [Case] = [
        Case(
            testDescription: "a text called .jpg",
            body: { form(Array("This is no photo.".utf8)) },
            code: "UNSUPPORTED_IMAGE_TYPE"
        ),
        Case(testDescription: "an SVG called .jpg", body: { form(Array(svg.utf8)) }, code: "UNSUPPORTED_IMAGE_TYPE"),
        Case(testDescription: "an empty file", body: { form([]) }, code: "UNSUPPORTED_IMAGE_TYPE", says: "is empty"),
        Case(
            testDescription: "a JPEG without its second half",
            body: {
                let photo = try Photos.jpeg(41)
                return form(Array(photo.prefix(photo.count / 2)))
            },
            code: "IMAGE_UNDECODABLE"
        ),
        Case(testDescription: "the head of a JPEG only", body: { form([0xFF, 0xD8, 0xFF, 0xE0]) }, code: "IMAGE_UNDECODABLE"),
        Case(
            testDescription: "a PNG that claims 60,000 pixels square",
            body: {
                var photo = try Photos.png(42)
                photo.replaceSubrange(16..<24, with: [0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60])
                let check = PhotoBomb.crc32(photo[12..<29])
                photo.replaceSubrange(29..<33, with: withUnsafeBytes(of: check.bigEndian) { Array($0) })
                return form(photo)
            },
            code: "IMAGE_TOO_LARGE"
        ),
        Case(
            testDescription: "a whole PNG of 56,007,000 pixels in 40 kB",
            body: { form(PhotoBomb.png(width: 8_001, height: 7_000)) },
            code: "IMAGE_TOO_LARGE"
        ),
        Case(
            testDescription: "a HEIC without its pixels",
            body: { form([0, 0, 0, 16] + Array("ftypheic".utf8) + [0, 0, 0, 0]) },
            code: "IMAGE_UNDECODABLE"
        ),
        Case(
            testDescription: "10 MB and one byte",
            body: { form(try Photos.jpeg(43) + [UInt8](repeating: 0, count: 10_485_761 - (try Photos.jpeg(43).count))) },
            status: 413,
            code: "FILE_TOO_LARGE",
            fields: ["photo"],
            says: "10 MiB"
        ),
        Case(
            testDescription: "far beyond the limit",
            body: { form([UInt8](repeating: 1, count: 13 << 20)) },
            status: 413,
            code: "FILE_TOO_LARGE"
        ),
        Case(testDescription: "no photo", body: { form(nil) }, code: "VALIDATION_ERROR", fields: ["photo"]),
        Case(
            testDescription: "no streak",
            body: { form(try Photos.jpeg(41), []) },
            code: "VALIDATION_ERROR",
            fields: ["streak_ids"]
        ),
        Case(
            testDescription: "an unknown field",
            body: { form(try Photos.jpeg(41), [("streak_ids", "all"), ("filter", "sepia")]) },
            code: "VALIDATION_ERROR",
            fields: ["filter"]
        ),
        Case(
            testDescription: "a caption of 201 characters",
            body: { form(try Photos.jpeg(41), [("streak_ids", "all"), ("caption", String(repeating: "ö", count: 201))]) },
            code: "VALIDATION_ERROR",
            fields: ["caption"]
        ),
        Case(
            testDescription: "a time that is none",
            body: { form(try Photos.jpeg(41), [("streak_ids", "all"), ("captured_at", "noon")]) },
            code: "VALIDATION_ERROR",
            fields: ["captured_at"]
        ),
        Case(testDescription: "garbage instead of parts", body: { Array("garbage".utf8) }, code: "MALFORMED_UPLOAD"),
        Case(
            testDescription: "a form that breaks off",
            body: { form(try Photos.jpeg(41)).dropLast(40) },
            code: "MALFORMED_UPLOAD"
        ),
        Case(
            testDescription: "a form without a boundary",
            body: { form(try Photos.jpeg(41)) },
            contentType: "multipart/form-data",
            status: 415,
            code: "UNSUPPORTED_MEDIA_TYPE",
            says: "boundary"
        ),
        Case(
            testDescription: "a photo as JSON",
            body: { Array("{\"photo\":\"x\"}".utf8) },
            contentType: "application/json",
            status: 415,
            code: "UNSUPPORTED_MEDIA_TYPE",
            says: "with a part “photo”"
        ),
    ]

    /// A user who could post. Each case has its own: an upload that is being checked has a row until it is refused.
    private static func author() async throws -> Person {
        let home = try await Installation.shared.value
        let author = try await Person.register("una", at: home)
        try await author.befriend(try await Person.register("vin", at: home))
        return author
    }

    @Test(arguments: cases) func `wrong uploads are refused with the reason`(wrong: Case) async throws {
        let author = try await Self.author()
        let body = try wrong.body()
        let headers = [
            ("Content-Type", wrong.contentType), ("Authorization", "Bearer \(author.token)"), ("X-Request-Id", "upload-1"),
        ]
        let reply = try await author.home.http.send("POST", "/api/photos/upload", headers: headers, body: body)
        #expect(reply.status == wrong.status, "\(reply.text)")
        #expect(reply.code == wrong.code, "\(reply.text)")
        #expect(wrong.says.isEmpty || reply.text.contains(wrong.says), "\(reply.text)")
        BadInputTests.expectEnvelope(reply)
        #expect(reply.header("X-Request-Id") == "upload-1")
        if let fields = wrong.fields { #expect(Set(reply.fields) == fields, "\(reply.text)") }
        try await Self.expectNothing(of: author)
    }

    /// No row and no byte.
    static func expectNothing(of author: Person) async throws {
        for table in ["snap_operation", "snap", "streak_snap"] {
            let rows = "SELECT count(*) FROM media.\(table) WHERE user_id = '\(author.id)'"
            #expect(try await author.home.sql(rows) == "0", "\(table)")
        }
        // Those of other tests may be among them; they go too.
        let there = Set(author.home.incoming)
        try await eventually("no part of an upload is left") { there.isDisjoint(with: author.home.incoming) }
        let blobs = Files.all(below: author.home.data.appending(path: "blobs")).filter { $0.path.contains(author.id) }
        #expect(blobs.isEmpty, "\(blobs)")
    }

    @Test func `a photo of exactly 56 megapixels is stored`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        let large = try await ada.upload(PhotoBomb.png(width: 8_000, height: 7_000))
        #expect(large.status == 201, "\(large.text)")
        #expect(large.data["snap"]["width"].int == 2_048 && large.data["snap"]["height"].int == 1_792, "\(large.text)")
        #expect(
            Files.all(below: home.data.appending(path: "blobs")).contains { $0.path.contains(ada.id) },
            "the refusals look for stored bytes in the right place"
        )
    }

    @Test func `no upload without a token`() async throws {
        let home = try await Installation.shared.value
        let reply = try await home.http.send(
            "POST",
            "/api/photos/upload",
            headers: [Form.contentType],
            body: Self.form(try Photos.jpeg(41))
        )
        #expect(reply.status == 401)
        let there = Set(home.incoming)
        try await eventually("no part of an upload is left") { there.isDisjoint(with: home.incoming) }
    }
}
