import DevEnvironment
import Foundation
import Logging
import Processes
import TestSupport
import Testing

/// Gateways that accept from one socket which their supervisor keeps open (D3, PF-5). Seen by clients that keep their connections, send at
/// least every few seconds, and never ask twice.
@Suite(.serialized, .timeLimit(.minutes(8))) struct GatewayRestartTests {
    /// Two gateways of one installation beside its own.
    private struct Gateways {
        let folder: URL
        let socket: ListeningSocket
        let processes: ServiceProcesses
        static let names = ["gateway-1", "gateway-2"]

        /// - Parameter settings: by the names of their variables, in addition to what connects them.
        init(_ home: Installation, _ settings: [String: String]) async throws {
            folder = try Installation.makeFolder()
            socket = try ListeningSocket()
            processes = ServiceProcesses(
                logFolder: folder.path,
                pidFolder: folder.path,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let secrets = home.data.appending(path: "secrets")
            let environment = [
                "STREAKSNAP_NATS_URL": "nats://127.0.0.1:\(home.natsPort)",
                "STREAKSNAP_NATS_PASSWORD_FILE": secrets.appending(path: "nats-gateway").path,
                "STREAKSNAP_GATEWAY_SEAL_KEYS_FILE": secrets.appending(path: "seal-keys").path,
                "STREAKSNAP_MEDIA_SIGNING_KEY_FILE": secrets.appending(path: "media-signing-key").path,
                "STREAKSNAP_BLOB_FOLDER": home.data.appending(path: "blobs").path, "STREAKSNAP_HTTP_USER_RATE": "0",
                "STREAKSNAP_HTTP_ADDRESS_RATE": "0",
            ]
            try await processes.start(
                Self.names.map { name in
                    var executable = ServiceProcesses.Executable(
                        name: name,
                        path: Installation.binaries.appending(path: "gateway").path,
                        environment: environment.merging(settings) { $1 }
                    )
                    executable.listener = socket
                    return executable
                }
            )
        }

        var http: HTTPClient { HTTPClient(port: socket.port) }

        /// How often a gateway has logged this message.
        func count(_ message: String, _ name: String) -> Int {
            (Files.text(folder.appending(path: "\(name).log")) ?? "").components(separatedBy: "\"message\":\"\(message)\"").count
                - 1
        }

        func process(_ name: String) throws -> pid_t {
            let text = try #require(Files.text(folder.appending(path: "\(name).pid")))
            return try #require(pid_t(text.trimmingCharacters(in: .newlines)))
        }

        /// SIGTERM to each; returns when all have ended well and others listen in their place.
        func restart(_ names: [String]) async throws {
            let before = names.map { (count("listening", $0), count("stopped", $0)) }
            for name in names { #expect(kill(try process(name), SIGTERM) == 0) }
            for (name, (listening, stopped)) in zip(names, before) {
                try await eventually("\(name) has stopped and listens again: \(log(name))", within: .seconds(120)) {
                    count("listening", name) == listening + 1 && count("stopped", name) == stopped + 1
                }
            }
        }

        func log(_ name: String) -> String { String((Files.text(folder.appending(path: "\(name).log")) ?? "").suffix(2_000)) }

        func end() async {
            await processes.stop()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// The program `Fixtures/steady_clients.py`.
    private struct Clients {
        private let log: URL
        private let stop: URL
        private let program: ChildProcess

        init(_ gateways: Gateways, _ person: Person) async throws {
            log = gateways.folder.appending(path: "clients.log")
            stop = gateways.folder.appending(path: "stop")
            let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/steady_clients.py").path
            program = try await ChildProcess.spawn(
                Command(
                    executable: "python3",
                    arguments: [script, "\(gateways.socket.port)", person.token, stop.path, "6", "3"],
                    environment: Command.inherited(),
                    output: log.path
                )
            )
        }

        /// What it has said last.
        private var report: JSON {
            let lines = (Files.text(log) ?? "").split(separator: "\n")
            return lines.last.flatMap { try? JSON(Array($0.utf8)) } ?? .null
        }

        /// Returns when so many more requests have been answered.
        func goOn(_ count: Int) async throws {
            let before = report["made"].int ?? 0
            try await eventually("\(count) more requests: \(report)", within: .seconds(120)) {
                try #require(!program.hasExited)
                return report["made"].int ?? 0 >= before + count
            }
        }

        /// Ends it. - Returns: requests answered, replies that said they were the last of their connection, and failures.
        func end() async throws -> (made: Int, closed: Int, failures: [String]) {
            #expect(FileManager.default.createFile(atPath: stop.path, contents: nil))
            #expect(await program.waitForExit() == 0)
            let report = report
            return (report["made"].int ?? 0, report["closed"].int ?? 0, report["failures"].list.compactMap(\.string))
        }

        func kill() { program.signal(SIGKILL) }
    }

    @Test func `one of two gateways, then the other, then both restart under load, and no request fails`() async throws {
        let home = try await Installation.shared.value
        let person = try await Person.register("gus", at: home)
        // Idle connections live longer than the slowest client pauses, as 30 s do for clients that pause 20 s.
        let gateways = try await Gateways(home, ["STREAKSNAP_HTTP_DRAIN_TIMEOUT": "8"])
        let clients = try await Clients(gateways, person)
        defer { clients.kill() }
        try await clients.goOn(300)
        for names in [["gateway-1"], ["gateway-2"], Gateways.names] {
            try await gateways.restart(names)
            try await clients.goOn(300)
        }
        let (made, closed, failures) = try await clients.end()
        #expect(failures.isEmpty, "\(failures) of \(made)")
        #expect(closed >= 9, "each client was sent away at least once")
        for name in Gateways.names {
            #expect(gateways.count("listening before everything is known", name) == 0, "\(gateways.log(name))")
        }
        await gateways.end()
    }

    @Test func `the first requests that a gateway answers are answered, whatever they ask for`() async throws {
        let home = try await Installation.shared.value
        let person = try await Person.register("una", at: home)
        let paths = [
            "/api/users/me", "/api/friends", "/api/streaks", "/api/photos/feed", "/api/notifications", "/api/recovery/balance",
        ]
        for _ in 0..<3 {
            let gateways = try await Gateways(home, ["STREAKSNAP_HTTP_DRAIN_TIMEOUT": "1"])
            // They connect before there is a gateway, and wait in the socket's queue.
            let replies = try await withThrowingTaskGroup(of: String.self) { group in
                for path in paths {
                    group.addTask {
                        let reply = try await gateways.http.send(
                            "GET",
                            path,
                            headers: [("Authorization", "Bearer \(person.token)")]
                        )
                        return "\(path) \(reply.status)"
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.sorted() == paths.map { "\($0) 200" }.sorted())
            await gateways.end()
        }
    }
}
