import Foundation
import TestSupport
import Testing

/// Clients that do not read what they have asked for (PF-5).
@Suite(.timeLimit(.minutes(5))) struct UnreadReplyTests {
    @Test func `a client that does not read a long reply is cut off, and the gateway can stop`() async throws {
        let gateway = try await EchoGateway(["http.idle-timeout": "1"])
        let folder = gateway.files.appendingPathComponent("avatars/large")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("large.jpg")
        try #require(FileManager.default.createFile(atPath: file.path, contents: nil))
        // More than the kernel keeps for a connection.
        try FileHandle(forWritingTo: file).truncate(atOffset: 64 << 20)
        let clients = try (0..<2).map { _ in try gateway.connect() }
        try await clients[0].send("GET /media/avatars/large/large.jpg HTTP/1.1\r\nHost: a\r\n\r\n")
        try await clients[1].send("GET /media/avatars/large/large.jpg HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        // What has come so far is read, and nothing after that.
        try await eventually("both replies have begun") { clients.allSatisfy { $0.text.hasPrefix("HTTP/1.1 200 ") } }
        try await eventually("both are cut off", within: .seconds(60)) { gateway.openConnections == 0 }
        await gateway.stop()
    }
}
