import Foundation
import GatewayService
import Runtime
import TestSupport
import Testing

/// A gateway that stops while clients connect.
@Suite(.serialized) struct StopTests {
    /// NIO ends the process when a connection that was accepted is dropped before it is handled.
    @Test func `clients that connect while it stops do not end the process`() async throws {
        for _ in 0..<6 {
            let gateway = try await EchoGateway()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        // Until the port is closed.
                        while let connection = try? gateway.connect() {
                            _ = connection.takes(1)
                            await Task.yield()
                        }
                    }
                }
                group.addTask { await gateway.stop() }
            }
        }
    }

    @Test(arguments: ["127.0.0.1", "nowhere.invalid"])
    func `a port that is taken or a host that is unknown ends the start, and the error names the settings`(name: String)
        async throws
    {
        let other = try await EchoGateway()
        let nats = try await NatsServer.start()
        let files = nats.files.appendingPathComponent("blobs")
        let values = ["http.host": name, "http.port": "\(other.port)", "gateway.ready-timeout": "0"]
        let host = try EchoGateway.makeHost(nats.url, files: files, values)
        let error = await #expect(throws: Settings.Invalid.self) { try await host.start() }
        #expect(error?.description.contains("--http-host and --http-port") == true)
        await host.stop()
        await other.stop()
    }

    @Test func `a key of links that is too short ends the start, and the error names it`() async throws {
        let nats = try await NatsServer.start()
        let files = nats.files.appendingPathComponent("blobs")
        let host = try EchoGateway.makeHost(nats.url, files: files, ["media.signing-key": "short"])
        let error = await #expect(throws: Settings.Invalid.self) { try await host.start() }
        #expect(error?.description.contains("--media-signing-key") == true)
        await host.stop()
    }
}
