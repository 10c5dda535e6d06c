import HTTPServer
import NIOCore
import NIOHTTP1
import TestSupport

/// Answers requests while `body` runs, and then stops.
nonisolated(nonsending) func serving(
    _ respond: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse,
    _ body: (Port) async throws -> Void
) async throws {
    let server = try await HTTPServer.start(host: "127.0.0.1", port: 0, respond)
    try await body(Port(number: UInt16(server.port)))
    await server.stop()
}

struct Port {
    let number: UInt16

    func connect() throws -> RawConnection { try RawConnection(port: number) }

    /// Sends one request, after whose reply the connection ends.
    func ask(_ line: String, _ headers: String = "", _ body: String = "") async throws -> RawReply {
        let connection = try connect()
        try await connection.send("\(line) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(headers)\r\n\(body)")
        return try await connection.reply(isHead: line.hasPrefix("HEAD "))
    }
}

/// A request whose reply does not end the connection.
func request(_ line: String, _ headers: String = "", _ body: String = "") -> String {
    "\(line) HTTP/1.1\r\nHost: a\r\n\(headers)\r\n\(body)"
}
