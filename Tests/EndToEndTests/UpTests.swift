import Foundation
import Processes
import TestSupport
import Testing

/// How `streaksnap up` uses its settings: options, environment, ports and addresses.
struct UpTests {
    private func up(_ options: [String], environment: [String: String] = [:]) async throws -> (
        result: FinishedCommand, leftBehind: Bool
    ) {
        let data = FileManager.default.temporaryDirectory.appending(path: "up-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: data) }
        let program = Installation.binaries.appending(path: "streaksnap").path
        let arguments = ["up", "--data", data.path] + options
        let result = try await run(program, arguments, environment: environment, within: .seconds(60))
        return (result, FileManager.default.fileExists(atPath: data.path))
    }

    @Test(arguments: [
        (["--port", "99999"], "--port must be from 1 to 65535, not 99999"), (["--port", "0"], "--port must be"),
        (["--port", "-1"], "--port"), (["--admin-port", "65536"], "--admin-port must be"), (["--nats-port", "0"], "--nats-port"),
        (["--separate", "--admin-port", "65530"], "--admin-port must be from 0 to 65529"),
        (["--host", "localhost"], "--host must be"),
        (["--host", "::1"], "--host must be"),
    ])
    func `what no port or address can be is refused by name, and nothing starts`(options: [String], culprit: String) async throws
    {
        let (result, leftBehind) = try await up(options)
        #expect(result.status == 64 && result.errors.contains(culprit), "\(result.transcript)")
        #expect(!leftBehind)
    }

    @Test(arguments: [[], ["--separate"]])
    func `the quota of a table that no service has is refused by name, and nothing starts`(options: [String]) async throws {
        let (result, leftBehind) = try await up(
            options,
            environment: ["STREAKSNAP_QUOTAS": "habit_completion=500000,place_pots=3"]
        )
        #expect(result.status == 64 && result.errors.contains("STREAKSNAP_QUOTAS"), "\(result.transcript)")
        #expect(result.errors.contains("“place_pots”") && !result.errors.contains("“habit_completion”"), "\(result.transcript)")
        #expect(!leftBehind)
    }

    @Test func `a service refuses the quota of another's table by name, before it connects to anything`() async throws {
        let media = Installation.binaries.appending(path: "media").path
        let result = try await run(media, [], environment: ["STREAKSNAP_QUOTAS": "place_vote=3,habit_completion=500000"])
        #expect(result.status == 64 && result.errors.contains("“habit_completion”"), "\(result.transcript)")
        #expect(result.errors.contains("place_post, place_post.file_bytes, place_vote"), "\(result.transcript)")
    }

    @Test func `a port in use is named before anything starts`() async throws {
        let taken = try await Installation.shared.value.http.port
        for options in [["--port", "\(taken)"], ["--port", "\(taken)", "--host", "0.0.0.0"]] {
            let (result, leftBehind) = try await up(options)
            #expect(result.status == 1 && result.errors.contains("Port \(taken) of "), "\(result.transcript)")
            #expect(result.errors.contains("Address already in use") && result.errors.contains("--port"), "\(result.transcript)")
            #expect(!leftBehind)
        }
        let free = try Installation.freePorts(1)[0]
        let (metrics, _) = try await up(["--port", "\(free)", "--admin-port", "\(taken)"])
        #expect(metrics.status == 1 && metrics.errors.contains("--admin-port"), "\(metrics.transcript)")
        let (foreign, _) = try await up(["--port", "\(free)", "--host", "203.0.113.7"])
        #expect(foreign.status == 1 && foreign.errors.contains("Name an address of this machine"), "\(foreign.transcript)")
    }

    @Test func `behind a trusted proxy the defaults are those of a server, and clients are counted by what it says`() async throws
    {
        let home = try await Installation(environment: ["STREAKSNAP_HTTP_TRUSTED_PROXIES": "127.0.0.1"])
        let chief = try await Person.administrator(at: home)
        let refused = try await chief.get("/api/admin/actions")
        #expect(refused.status == 403 && refused.code == "SECOND_FACTOR_ENROLMENT_REQUIRED", "\(refused.text)")
        func ask(_ name: String, from client: String) async throws -> Int {
            let headers = [("X-Forwarded-For", client)]
            let body = "{\"email\":\"\(name)@example.com\"}"
            return try await home.call("POST", "/api/auth/password/forgot", json: body, headers: headers).status
        }
        // auth.address-registrations
        for number in 1...30 { #expect(try await ask("n\(number)", from: "192.0.2.1, 198.51.100.7") == 202) }
        #expect(try await ask("n31", from: "192.0.2.2, 198.51.100.7") == 429)
        #expect(try await ask("n31", from: "192.0.2.1, 198.51.100.8") == 202)
        await home.guardian.end()
    }

    /// Settings of the operator, and some that only `up` can know.
    private static let environment = [
        "STREAKSNAP_OTLP_ENDPOINT": "http://127.0.0.1:9", "STREAKSNAP_MEDIA_PUBLIC_URL": "https://photos.example",
        "STREAKSNAP_MEDIA_THREADS": "1", "STREAKSNAP_NATS_PASSWORD": "wrong", "STREAKSNAP_HTTP_PORT": "1",
        "STREAKSNAP_DATABASE_URL": "postgresql://unknown@127.0.0.1:1/none", "STREAKSNAP_MEDIA_SIGNING_KEY": "short",
        "STREAKSNAP_QUOTAS": "report=9000,habit_completion=500000,place_vote=300000",
    ]
    /// What each service gets of the quotas: it refuses those of others.
    private static let quotas = ["social": "report=9000", "streaks": "habit_completion=500000", "media": "place_vote=300000"]

    @Test(arguments: [[], ["--separate"]])
    func `settings of the environment reach the services, but for those that hold the system together`(options: [String])
        async throws
    {
        let home = try await Installation(options, environment: Self.environment)
        try await eventually("it says where people reach it") {
            let said = Files.text(home.guardian.log) ?? ""
            return said.contains("ready https://photos.example\n") && said.contains("\n  open https://photos.example/docs")
        }
        let ann = try await Person.register("ann", at: home)
        _ = try await ann.befriend(try await Person.register("bea", at: home))
        #expect(try await ann.upload(try Photos.jpeg(90)).status == 201)
        let link = try #require(try await ann.export().json["media"]["snaps"][0]["photo_url"].string)
        #expect(link.hasPrefix("https://photos.example/media/"), "\(link)")
        if !options.isEmpty {
            for (process, name) in home.processes() where LinkageTests.services.contains(name) {
                let environment = ProcessTree.environment(of: process)
                #expect(environment["STREAKSNAP_OTLP_ENDPOINT"] == "http://127.0.0.1:9", "\(name)")
                if let quotas = Self.quotas[name] { #expect(environment["STREAKSNAP_QUOTAS"] == quotas, "\(name)") }
            }
        } else {
            // Spans without a collector are counted as lost.
            #expect(try await home.call("GET", "/readyz").status == 200)
        }
        await home.guardian.end()
    }

    @Test(arguments: [[], ["--separate"]])
    func `a signal that comes while it starts stops it in order, and leaves no process`(options: [String]) async throws {
        let folder = try Installation.makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let up = try await ChildProcess.spawn(
            Command(
                executable: Installation.binaries.appending(path: "streaksnap").path,
                arguments: ["up", "--port", "\(try Installation.freePorts(1)[0])", "--data", "\(folder.path)/data"] + options,
                environment: Command.inherited([:]),
                output: folder.path + "/output"
            )
        )
        var servers: [pid_t] = []
        try await eventually("both servers run", within: .seconds(100)) {
            servers = ["postgres/cluster/postmaster.pid", "nats/nats-server.pid"].compactMap { name in
                (Files.text(folder.appending(path: "data/\(name)"))?.split(separator: "\n").first).flatMap { pid_t($0) }
            }
            return servers.count == 2
        }
        up.signal(SIGTERM)
        let status = await up.waitForExit()
        let output = Files.text(folder.appending(path: "output")) ?? ""
        #expect(status == 0 && !output.contains("ready http"), "\(output)")
        #expect(servers.filter { FileManager.default.fileExists(atPath: "/proc/\($0)") } == [])
    }

    @Test func `on all addresses only the public API is reached, and links lead there`() async throws {
        let admin = try Installation.freePorts(1)[0]
        let home = try await Installation(["--host", "0.0.0.0", "--admin-port", "\(admin)"])
        func status(_ host: String, _ port: UInt16, _ path: String) async throws -> String {
            let format = ["-s", "-o", "/dev/null", "--max-time", "20", "-w", "%{http_code}"]
            return try await run("curl", format + ["http://\(host):\(port)\(path)"]).text
        }
        // Another address of this machine, which every Linux has.
        #expect(try await status("127.0.0.2", home.http.port, "/api/health") == "200")
        #expect(try await status("127.0.0.1", admin, "/healthz") == "200")
        for (port, path) in [(admin, "/healthz"), (home.natsPort, "/"), (home.postgresPort, "/")] {
            #expect(try await status("127.0.0.2", port, path) == "000", "port \(port)")
        }
        let said = Files.text(home.guardian.log) ?? ""
        #expect(said.contains("There is no TLS"), "\(said)")
        let address = try #require(said.firstMatch(of: /ready (http:\/\/[0-9.]+:[0-9]+)\n/)?.1)
        let ann = try await Person.register("ann", at: home)
        _ = try await ann.befriend(try await Person.register("bea", at: home))
        #expect(try await ann.upload(try Photos.jpeg(91)).status == 201)
        let link = try #require(try await ann.export().json["media"]["snaps"][0]["photo_url"].string)
        #expect(link.hasPrefix(address + "/media/"), "\(link)")
        #expect(
            try await run("curl", ["-s", "-f", "-o", "/dev/null", "--max-time", "20", link]).status == 0,
            "a phone can load it"
        )
        let network = try await run("hostname", ["-I"]).text.split(whereSeparator: \.isWhitespace).filter { !$0.contains(":") }
        #expect(network.isEmpty || network.contains { address.contains("//\($0):") }, "\(address): \(network)")
        await home.guardian.end()
    }

    @Test func `on one address it is reached at that one only`() async throws {
        let port = try Installation.freePorts(1)[0]
        let folder = try Installation.makeFolder()
        let command = [
            Installation.binaries.appending(path: "streaksnap").path, "up", "--port", "\(port)", "--host", "127.0.0.2",
            "--separate",
            "--data", folder.appending(path: "data").path, "--ready-file", folder.appending(path: "ready").path,
        ]
        let guardian = try await Guardian(command, folder: folder)
        try await eventually("the system is ready", within: .seconds(120)) {
            guard guardian.isRunning else { throw Guardian.Failure(description: Files.text(guardian.log) ?? "") }
            return Files.text(folder.appending(path: "ready")) == "http://127.0.0.2:\(port)"
        }
        #expect(try await run("curl", ["-s", "-f", "-o", "/dev/null", "http://127.0.0.2:\(port)/api/health"]).status == 0)
        #expect(try await run("curl", ["-s", "-f", "-o", "/dev/null", "http://127.0.0.1:\(port)/api/health"]).status != 0)
        await guardian.end()
    }
}
