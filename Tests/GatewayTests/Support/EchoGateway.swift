import Bus
import Cryptography
import Foundation
import Kernel
import Logging
import Runtime
import Synchronization
import TestSupport
import Testing
import Tokens

@testable import GatewayService

/// A whole gateway on a broker of its own, with one service that gives back what it was given (`Fixtures/echo.proto`).
final class EchoGateway: Sendable {
    /// With the settings that are the default; most tests share it.
    static let shared = Task { try await EchoGateway() }
    /// For pages of one origin.
    static let withOrigins = Task {
        try await EchoGateway(["http.cors-origins": "https://app.example.com, http://localhost:3000"])
    }

    let port: UInt16
    let files: URL
    private let nats: NatsServer
    private let bus: BusConnection
    private let service: BusService
    private let host: GatewayHost
    /// What the service got.
    let received = Received()

    /// The requests of the service.
    final class Received: RPCObserver {
        private let state = Mutex<(address: IPAddress?, refused: Int)>((nil, 0))

        /// The client's address of the last one.
        var address: IPAddress? { state.withLock { $0.address } }
        /// How many were refused for their seal.
        var refused: Int { state.withLock { $0.refused } }

        func note(_ context: CallContext) { state.withLock { $0.address = context.clientAddress } }
        func ended(_ rpc: ObservedRPC) { if rpc.fate == .unsealed { state.withLock { $0.refused += 1 } } }
    }

    /// - Parameters:
    ///   - settings: in addition to those that every test needs.
    ///   - sealKey: that of the service; nil: it believes everything.
    ///   - isAsked: whether to ask it until it knows the routes; otherwise the first request is the test's.
    init(_ settings: [String: String] = [:], sealKey: String? = nil, isAsked: Bool = true) async throws {
        nats = try await NatsServer.start()
        files = nats.files.appendingPathComponent("blobs")
        bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: Self.silence)
        try await JetStream(connection: bus).ensureStream(RevocationStream.configuration())
        service = try Self.makeService(bus, received, sealKey)
        try await service.start()
        host = try Self.makeHost(nats.url, files: files, settings.merging(["gateway.services": "echo"]) { given, _ in given })
        try await host.start()
        port = UInt16(clamping: host.port)
        guard isAsked else { return }
        try await eventually("the routes are known") {
            try await self.ask("GET /api/notes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status == 200
        }
    }

    /// A gateway that is not started yet.
    ///
    /// - Parameter settings: in addition to those that every test needs.
    static func makeHost(_ natsURL: String, files: URL, _ settings: [String: String]) throws -> GatewayHost {
        let values = [
            "nats.url": natsURL, "http.port": "0", "http.address-rate": "0", "blob.folder": files.path,
            "media.signing-key": String(repeating: "k", count: 40),
            // There is no auth to wait for.
            "gateway.ready-timeout": "0", "http.drain-timeout": "1",
            "gateway.webhook-authorization": "echo:/api/hooks/{sender}",
        ]
        return try GatewayHost(
            settings: Settings(values: values.merging(settings) { $1 }, declared: GatewayHost.settings),
            logger: silence,
            metrics: Metrics()
        )
    }

    static var silence: Logger { Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() } }

    private static func makeService(_ bus: BusConnection, _ received: Received, _ sealKey: String?) throws -> BusService {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/echo.binpb", withExtension: nil))
        let set = [UInt8](try Data(contentsOf: url))
        let hash = SHA256.hash(data: set).map { String(UInt32($0) + 256, radix: 16).dropFirst() }.joined()
        let methods = ["Say", "Read", "SayInPrivate", "Store", "StoreInPrivate", "Show", "Export", "Keys", "Receive"]
        let endpoints = methods.map { name in
            Endpoint(service: "echo", version: "v1", name: name) { body, context in
                received.note(context)
                return body
            }
        }
        let descriptor = HandmadeDescriptor.field(1, set)
        return BusService(
            connection: bus,
            name: "echo",
            version: "1.0.0",
            metadata: ["descriptor": hash],
            endpoints: endpoints + [.descriptor(service: "echo", sha256: hash, reply: descriptor)],
            seals: try sealKey.map { try SealCheck(service: "echo", keys: $0) { _, _ in false } },
            logger: silence,
            observer: received
        )
    }

    /// Connections that it serves.
    var openConnections: Int { host.openConnections }

    /// Memory that heads of requests take which have not arrived whole.
    var headBytes: Int { host.headBytes }

    /// Stops it as an operator does.
    func stop() async { await host.stop() }

    /// Opens a connection.
    func connect(sendBuffer: Int32? = nil) throws -> RawConnection { try RawConnection(port: port, sendBuffer: sendBuffer) }

    /// Sends a request as it is and reads until the gateway closes the connection or the reply is whole.
    func ask(_ text: String, body: [UInt8] = []) async throws -> RawReply {
        let connection = try connect()
        try await connection.send(Array(text.utf8) + body)
        return try await connection.reply(isHead: text.hasPrefix("HEAD "))
    }

    /// A POST of JSON to the route that gives it back.
    func say(_ headers: String, _ body: [UInt8]) async throws -> RawReply {
        try await ask(
            "POST /api/notes HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\(headers)\r\n",
            body: body
        )
    }
}
