import Foundation
import Synchronization
import Testing

@testable import StreakSnapClient

@Suite(.timeLimit(.minutes(5))) struct UploadTests {
    private static let reply = """
        {"snap":{"id":"s-1","user_id":"u-1","photo_url":"/media/x","captured_at":"2026-01-02T03:04:05.5Z"},"streaks":[]}
        """

    /// A file whose bytes differ, and also look like parts of a form.
    private func photo(_ size: Int, in folder: Folder) throws -> URL {
        let pattern = Data("--\r\nabc\0\u{FF}".utf8)
        var bytes = Data(capacity: size)
        while bytes.count < size { bytes += pattern + Data("\(bytes.count)".utf8) }
        let file = folder.url.appendingPathComponent("p\"1.jpg")
        try bytes.prefix(size).write(to: file)
        return file
    }

    @Test func `a file is sent as a part of a form, with progress, and again when the connection was cut`() async throws {
        let folder = try Folder()
        let file = try photo(3_000_001, in: folder)
        let server = try LocalServer { _, count in count == 0 ? .drop : success(Self.reply) }
        let settings = StreakSnap.Settings(temporaryFolder: folder.url.appendingPathComponent("tmp"))
        let client = try StreakSnap.test(server, settings: settings)
        let progress = Mutex<[UploadProgress]>([])
        let taken = Date(timeIntervalSince1970: 1_767_323_045.25)
        let reply = try await client.snaps.uploadSnap(
            photo: .file(file, contentType: "image/jpeg"),
            streakIDs: ["a", "b"],
            caption: "Grüße \"1\"",
            capturedAt: taken
        ) { step in progress.withLock { $0.append(step) } }
        #expect(reply.snap.id == "s-1")
        #expect(reply.snap.capturedAt == Timestamp.date("2026-01-02T03:04:05.5Z"))
        let requests = server.requests
        #expect(requests.count == 2)
        #expect(requests[0].body == requests[1].body)
        #expect(requests[0].headers["idempotency-key"] == requests[1].headers["idempotency-key"])
        let parts = try Form.parts(of: requests[1])
        #expect(parts.map(\.name) == ["caption", "captured_at", "streak_ids", "streak_ids", "photo"])
        #expect(
            parts.dropLast().map { String(decoding: $0.body, as: UTF8.self) } == [
                "Grüße \"1\"", "2026-01-02T03:04:05.25Z", "a", "b",
            ]
        )
        #expect(parts.last?.body == (try Data(contentsOf: file)))
        let steps = progress.withLock { $0 }
        #expect(steps.last?.sent == Int64(requests[1].body.count))
        #expect(steps.last?.fraction == 1)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.appendingPathComponent("tmp").path)
        #expect(left.isEmpty, "the form's own file is removed")
    }

    @Test func `bytes in memory are sent too, and a file that is missing is an error of its own`() async throws {
        let server = try LocalServer { _, _ in success(Self.reply) }
        let client = try StreakSnap.test(server)
        try await client.snaps.uploadSnap(photo: .data(Data([1, 2, 3])), streakIDs: ["all"])
        #expect(try Form.parts(of: server.requests[0]).last?.body == Data([1, 2, 3]))
        let missing = URL(fileURLWithPath: "/nowhere/photo.jpg")
        let error = await #expect(throws: StreakSnapError.self) {
            try await client.snaps.uploadSnap(photo: .file(missing), streakIDs: ["all"])
        }
        #expect(error?.kind == .file)
        #expect(server.requests.count == 1)
    }
}

/// Reads multipart forms.
enum Form {
    static func parts(of request: LocalServer.Request) throws -> [(name: String, body: Data)] {
        let type = try #require(request.headers["content-type"])
        let boundary = try #require(type.components(separatedBy: "boundary=").dropFirst().first)
        var parts: [(String, Data)] = []
        var rest = Data("\r\n".utf8) + request.body
        let mark = Data("\r\n--\(boundary)".utf8)
        var start = try #require(rest.range(of: mark)).upperBound
        while let end = rest[start...].range(of: mark) {
            let part = rest[start..<end.lowerBound]
            let gap = try #require(part.range(of: Data("\r\n\r\n".utf8)))
            let head = String(decoding: part[..<gap.lowerBound], as: UTF8.self)
            let name = try #require(
                head.components(separatedBy: "name=\"").dropFirst().first?.components(separatedBy: "\"").first
            )
            parts.append((name, Data(part[gap.upperBound...])))
            start = end.upperBound
        }
        rest = rest[start...]
        #expect(rest.starts(with: Data("--".utf8)))
        return parts
    }
}
