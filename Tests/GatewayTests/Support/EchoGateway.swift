import Bus
import Foundation
import Kernel
import Logging
import Runtime
import Synchronization
import TestSupport
import Testing

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

    /// - Parameter settings: in addition to those that every test needs.
    init(_ settings: [String: String] = [:]) async throws {
        nats = try await NatsServer.start()
        files = nats.files.appendingPathComponent("blobs")
        bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: Self.silence)
        service = try Self.makeService(bus)
        try await service.start()
        let values = [
            "nats.url": nats.url, "http.port": "0", "http.address-rate": "0", "gateway.services": "echo",
            "blob.folder": files.path, "media.signing-key": String(repeating: "k", count: 40),
        ]
        host = try GatewayHost(
            settings: Settings(
                values: values.merging(settings) { $1 },
                declared: GatewayHost.settings
            ),
            logger: Self.silence,
            metrics: Metrics()
        )
        try await host.start()
        port = UInt16(clamping: host.port)
        try await eventually("the routes are known") {
            try await self.ask("GET /api/notes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status == 200
        }
    }

    private static var silence: Logger { Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() } }

    private static func makeService(_ bus: BusConnection) throws -> BusService {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/echo.binpb", withExtension: nil))
        let set = [UInt8](try Data(contentsOf: url))
        let hash = "echo-1"
        let methods = ["Say", "Read", "SayInPrivate", "Store", "StoreInPrivate", "Show", "Export", "Keys"]
        let endpoints = methods.map { Endpoint(service: "echo", version: "v1", name: $0) { body, _ in body } }
        let descriptor = Self.field(0x0A, set) + Self.field(0x12, Array(hash.utf8))
        return BusService(
            connection: bus,
            name: "echo",
            version: "1.0.0",
            metadata: ["descriptor": hash],
            endpoints: endpoints + [Endpoint(service: "echo", version: "v1", name: "Descriptor") { _, _ in descriptor }],
            logger: silence
        )
    }

    /// A protobuf field of bytes.
    private static func field(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        var length = bytes.count
        var result = [tag]
        while length > 0x7F {
            result.append(UInt8(length & 0x7F) | 0x80)
            length >>= 7
        }
        return result + [UInt8(length)] + bytes
    }

    /// Stops it as an operator does.
    func stop() async { await host.stop() }

    /// Opens a connection.
    func connect() throws -> RawConnection { try RawConnection(port: port) }

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
