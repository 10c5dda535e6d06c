import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import HTTPServer

/// The parser of a connection without a socket.
struct EmbeddedConnection {
    let channel = EmbeddedChannel()

    /// - Parameter heads: nil for NIO's parser alone.
    init(_ heads: HTTPHeads?, from address: String = "192.0.2.1") throws {
        let pipeline = channel.pipeline.syncOperations
        if let heads {
            try pipeline.addHTTP(heads)
        } else {
            try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: false)
        }
        let address = try SocketAddress(ipAddress: address, port: 80)
        channel.connect(to: address, promise: nil)
        channel.remoteAddress = address
    }

    /// One read of these bytes.
    ///
    /// - Parameter readsOn: whether more are wanted.
    /// - Returns: why the head is not waited for.
    /// - Throws: the parser's error.
    func receive(_ text: String, readsOn: Bool = true) throws -> HTTPHeadError? {
        defer { if readsOn { channel.read() } }
        return try Self.error { _ = try channel.writeInbound(ByteBuffer(string: text)) }
    }

    /// Moves the clock.
    func pass(milliseconds: Int64) throws -> HTTPHeadError? {
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(milliseconds))
        return try Self.error { try channel.throwIfErrorCaught() }
    }

    private static func error(_ body: () throws -> Void) throws -> HTTPHeadError? {
        do { try body() } catch let error as HTTPHeadError { return error }
        return nil
    }

    /// What the parser has said since last time, with the pieces of a body as one.
    func parts() throws -> [String] {
        var (parts, body): ([String], String) = ([], "")
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head): parts.append("\(head.method) \(head.uri) \(head.version) \(Array(head.headers))")
            case .body(let bytes): body += String(buffer: bytes)
            case .end(let trailers):
                parts.append("\(body) \(Array(trailers ?? [:]))")
                body = ""
            }
        }
        return parts
    }

    /// The client has gone.
    func close() throws { _ = try channel.finish(acceptAlreadyClosed: true) }
}
