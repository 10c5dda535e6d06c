import Bus
import Foundation
import Kernel
import Processes
import TestSupport
import Testing

extension BrokerTests {
    /// The broker stops, is killed, freezes and comes back while requests are on their way.
    @Suite struct BrokerFailureTests {
        @Test(arguments: ["stop", "kill"]) func `traffic goes on after the broker is back`(how: String) async throws {
            try await withBus { server, bus in
                let client = try await server.connect("client")
                let effects = Shared(0)
                let service = try await startNotes(
                    bus,
                    limit: 1_000,
                    [
                        Endpoint(Notes.echo) { note, _ in
                            effects.update { $0 += 1 }
                            return note
                        }
                    ]
                )
                let isDone = Shared(false)
                // Also when the test fails: a loop of refused calls would keep every other test from its thread.
                defer { isDone.update { $0 = true } }
                let outcomes = Shared<[String: Int]>([:])
                let load = Task {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<16 {
                            group.addTask {
                                while !isDone.value {
                                    do {
                                        _ = try await client.call(Notes.echo, "x", context: .expiring(in: .minutes(1)))
                                        outcomes.update { $0["ok", default: 0] += 1 }
                                    } catch {
                                        outcomes.update { $0["\(error)", default: 0] += 1 }
                                        try? await Task.sleep(for: .milliseconds(10))
                                    }
                                }
                            }
                        }
                    }
                }
                for _ in 0..<3 {
                    let before = outcomes.value["ok"] ?? 0
                    try await eventually("traffic flows") { outcomes.value["ok"] ?? 0 > before + 200 }
                    if how == "kill" { await server.kill() } else { await server.stop() }
                    try await eventually("both notice") { !client.isConnected && !bus.isConnected }
                    try await server.start()
                    try await eventually("both are back") { client.isConnected && bus.isConnected }
                }
                let before = outcomes.value["ok"] ?? 0
                try await eventually("traffic flows again") { outcomes.value["ok"] ?? 0 > before + 200 }
                isDone.update { $0 = true }
                await load.value
                // Idempotent calls are sent again; none was lost in three restarts.
                #expect(outcomes.value.keys.sorted() == ["ok"])
                await service.drain()
                await client.close()
            }
        }

        @Test func `requests made while the broker is away are answered when it is back`() async throws {
            try await withBus { server, bus in
                let client = try await server.connect("client")
                let service = try await startNotes(bus, [Endpoint(Notes.change) { note, _ in note }])
                await server.kill()
                try await eventually("both notice") { !client.isConnected && !bus.isConnected }
                let calls = (0..<20).map { number in
                    Task { try await client.call(Notes.change, Note("\(number)"), context: .expiring(in: .minutes(1))) }
                }
                try await expectFailure(.deadlineExceeded) {
                    try await client.call(Notes.change, "x", context: .expiring(in: .milliseconds(100)))
                }
                try await server.start()
                for (number, call) in calls.enumerated() { #expect(try await call.value == Note("\(number)")) }
                await service.drain()
                await client.close()
            }
        }

        @Test func `a frozen broker delays but does not break`() async throws {
            try await withBus { server, bus in
                let service = try await startNotes(bus, [Endpoint(Notes.echo) { note, _ in note }])
                await server.pause()
                let start = ContinuousClock.now
                try await expectFailure(.deadlineExceeded) {
                    try await bus.call(Notes.echo, "x", context: .expiring(in: .milliseconds(300)))
                }
                #expect(ContinuousClock.now - start < .seconds(30))
                let call = Task { try await bus.call(Notes.echo, "later", context: .expiring(in: .minutes(1))) }
                server.resume()
                #expect(try await call.value == "later")
                await service.drain()
            }
        }

        @Test func `a frozen broker does not block publishers`() async throws {
            try await withBus { server, bus in
                await server.pause()
                let body = [UInt8](repeating: 1, count: 512 << 10)
                var longest = Duration.zero
                var refused = false
                for _ in 0..<80 where !refused {
                    let start = ContinuousClock.now
                    do { try bus.publish("nowhere", body: body) } catch { refused = true }
                    longest = max(longest, ContinuousClock.now - start)
                }
                #expect(refused, "once the buffers are full, publishing fails")
                #expect(longest < .seconds(10), "\(longest)")
                server.resume()
                try await eventually("it is back") { bus.isConnected }
                try await eventually("and takes messages") { (try? await bus.flush()) != nil }
            }
        }

        @Test func `a broker that refuses for a while is found again`() async throws {
            let users = { (password: String) in "authorization { user: bus, password: \(password) }" }
            let server = try await NatsServer.start(configuration: users("right"))
            let lines = Shared<[String]>([])
            let configuration = BusConfiguration(
                url: server.url,
                user: "bus",
                password: "right",
                reconnectWait: .milliseconds(50)
            )
            let bus = try await BusConnection.connect(configuration, logger: recording(lines))
            let service = try await startNotes(bus, [Endpoint(Notes.echo) { note, _ in note }])
            await server.stop()
            try await server.start(configuration: users("other"))
            // nats.c gives up after the second refusal; the connection must not.
            try await eventually("it was refused several times") {
                server.log.components(separatedBy: "authentication error").count > 4
            }
            try await eventually("nats.c gave up") { lines.value.contains { $0.contains("connecting anew") } }
            await server.stop()
            try await server.start(configuration: users("right"))
            try await eventually("it is back", within: .seconds(60)) { bus.isConnected }
            try await eventually("with its subscriptions") {
                (try? await bus.call(Notes.echo, "x", context: .expiring(in: .seconds(2)))) == "x"
            }
            await service.drain()
            await bus.close()
        }
    }

    /// Who gets in, and how.
    @Suite struct ConnectionTests {
        @Test func `credentials are checked at the start`() async throws {
            let server = try await NatsServer.start(
                configuration: "accounts { APP: { users: [ { user: a, password: \"p w\" } ] } }"
            )
            let bus = try await server.connect { ($0.user, $0.password, $0.inboxPrefix) = ("a", "p w", "_INBOX.a") }
            #expect(bus.isConnected)
            try await expectFailure(.unavailable) { try await bus.call(Notes.echo, "x", context: CallContext()) }
            await bus.close()
            await #expect(throws: BusConnectionError.self) { try await server.connect { ($0.user, $0.password) = ("a", "no") } }
            await #expect(throws: BusConnectionError.self, "anonymous") { try await server.connect() }
        }

        @Test func `a token gets in`() async throws {
            let server = try await NatsServer.start(configuration: "authorization { token: secret }")
            let bus = try await server.connect { $0.token = "secret" }
            try await bus.flush()
            await bus.close()
            await #expect(throws: BusConnectionError.self) { try await server.connect { $0.token = "wrong" } }
        }

        @Test func `the inbox prefix is used for every reply`() async throws {
            let server = try await NatsServer.start(
                configuration: """
                    accounts { APP: { users: [ { user: a, password: p, permissions: {
                        publish: ["rpc.>", "$SRV.>", "_INBOX.>"], subscribe: ["rpc.>", "$SRV.>", "_INBOX.a.>"] } } ] } }
                    """
            )
            let bus = try await server.connect { ($0.user, $0.password, $0.inboxPrefix) = ("a", "p", "_INBOX.a") }
            let service = try await startNotes(bus, [Endpoint(Notes.echo) { note, _ in note }])
            #expect(try await bus.call(Notes.echo, "x", context: CallContext()) == "x")
            #expect(try await ping(bus).count == 1)
            await service.drain()
            await bus.close()
        }

        @Test func `TLS with files`() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (key, certificate) = (folder.path + "/key.pem", folder.path + "/cert.pem")
            let made = try await run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                ]
            )
            try #require(made.status == 0, "\(made.errors)")
            let server = try await NatsServer.start(
                configuration: "tls { cert_file: \"\(certificate)\", key_file: \"\(key)\", timeout: 5 }"
            )
            let bus = try await server.connect {
                $0.tls = .init(authoritiesFile: certificate, certificateFile: certificate, keyFile: key)
            }
            try await bus.flush()
            await bus.close()
            await #expect(throws: BusConnectionError.self, "an unknown authority") {
                try await server.connect {
                    $0.tls = .init()
                    $0.connectTimeout = .seconds(1)
                }
            }
            let plain = try await NatsServer.start()
            await #expect(throws: BusConnectionError.self, "a broker without TLS") {
                try await plain.connect {
                    $0.tls = .init(authoritiesFile: certificate)
                    $0.connectTimeout = .seconds(1)
                }
            }
        }

        @Test func `a frozen broker does not hold up connecting`() async throws {
            let server = try await NatsServer.start()
            await server.pause()
            let start = ContinuousClock.now
            await #expect(throws: BusConnectionError.self) {
                try await server.connect { $0.connectTimeout = .milliseconds(300) }
            }
            #expect(ContinuousClock.now - start < .seconds(60))
            server.resume()
        }

        @Test func `an inbox that has no responder is refused`() async throws {
            let server = try await NatsServer.start()
            for prefix in ["inbox", "_INBOXES.a", "_inbox", "", "_INBOX.*", "_INBOX."] {
                await #expect(throws: BusConnectionError.self, "\(prefix)") {
                    try await server.connect { $0.inboxPrefix = prefix }
                }
            }
        }

        @Test func `connecting waits for a broker that comes later`() async throws {
            let server = try await NatsServer.start()
            await server.stop()
            let connecting = Task { try await server.connect { $0.connectTimeout = .seconds(60) } }
            try await server.start()
            let bus = try await connecting.value
            #expect(bus.isConnected)
            await bus.close()
            await server.stop()
            await #expect(throws: BusConnectionError.self) {
                try await server.connect { $0.connectTimeout = .milliseconds(300) }
            }
        }
    }
}
