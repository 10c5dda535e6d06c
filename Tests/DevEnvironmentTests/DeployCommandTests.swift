import Foundation
import Glibc
import Processes
import Testing

/// What `deploy/dev` says of a wrong command line, and what it leaves behind: one plain line, and nothing.
struct DeployCommandTests {
    private static let wrong: [(line: String, culprit: String)] = [
        ("up --port 99999", "--port must be a number from 1 to 65535, not “99999”"), ("up --port 0", "--port must be"),
        ("up --port=x", "--port must be"), ("up --port", "--port needs a value"),
        ("up --port --separate", "--port needs a value"),
        ("up --admin-port 65536", "--admin-port must be"), ("up --separate --admin-port 65530", "--admin-port must be"),
        ("up --host phone", "--host must be"), ("up --detach=1", "--detach takes no value"), ("up --nonsense", "“--nonsense”"),
        ("up now", "“now”"), ("up --data", "--data needs a value"), ("down --nonsense", "“--nonsense”"), ("demo x", "“x”"),
        ("demo --data y", "“--data”"), ("logs a b", "“b”"), ("logs --data", "--data needs a value"), ("photo", "FILE is missing"),
        ("photo a.jpg --seed x", "--seed must be"), ("soak --nonsense", "“--nonsense”"),
        ("soak --pairs", "--pairs needs a value"),
        ("soak --pairs 0", "--pairs must be"), ("soak --from tomorrow", "--from must be"),
        ("soak --people 0 --habit-people 0 --days 0", "--days must be"), ("soak --people none", "--people must be"),
        ("chaos --kills many", "--kills must be"),
        ("test --depth deep", "--depth must be quick or full, not “deep”"), ("test --depth", "--depth must be"),
        ("chaos --victims all", "--victims must be"), ("bench nonsense", "“nonsense”"),
        ("bench --nonsense", "“--nonsense”"),
        ("generate --nonsense", "“--nonsense”"), ("generate --against", "--against needs a value"),
        ("package", "--output DIR is missing"), ("package x", "“x”"), ("seed", "--users N is missing"),
        ("seed --users few", "--users must be"),
        ("make-admin", "EMAIL is missing"), ("declare-outage 2026-05-04T20:00:00Z", "UNTIL is missing"),
        ("declare-outage yesterday today", "FROM must be an instant like 2026-05-04T20:00:00Z, not “yesterday”"),
        ("help nonsense", "there is no command “nonsense”"),
        ("new-service", "NAME is missing"), ("new-service a b", "“b”"), ("new-service a --into", "--into needs a value"),
        ("new-service Meals", "not “Meals”"), ("up --services", "--services needs a value"),
        ("screenshot", "URL is missing"), ("setup x", "“x”"), ("nonsense", "there is no command “nonsense”"),
        ("--nonsense", "there is no command “--nonsense”"),
    ]

    @Test(arguments: wrong) func `a wrong command line is one line that names what is wrong, before anything is built`(
        line: String,
        culprit: String
    ) async throws {
        try await DeployFolder.with { folder in
            let result = try await folder.dev(line.split(separator: " ").map(String.init))
            #expect(result.status == 2, "\(result.transcript)")
            #expect(result.text.isEmpty)
            expectOneLine(result, culprit)
            #expect(!folder.wasBuilt && folder.leftovers.isEmpty, "\(folder.leftovers)")
        }
    }

    private static let failing: [(line: String, culprit: String)] = [
        ("logs --data none", "there are no logs in"), ("logs", "there are no logs in"),
        ("photo /nonexistent/x.jpg", "there is no folder /nonexistent"), ("photo ../caller", "is a folder"),
        ("demo --port 1", "does not answer at http://127.0.0.1:1"), ("down", "nothing runs on"),
        ("down --data none", "nothing runs on"),
        ("seed --users 5", "nothing runs on"), ("make-admin ada@example.com", "nothing runs on"),
        ("declare-outage 2026-05-04T20:00:00Z 2026-05-04T23:00:00Z --data none", "nothing runs on"),
        ("screenshot http://127.0.0.1:1/", "http://127.0.0.1:1/ does not answer"),
    ]

    @Test(arguments: failing) func `a failure is one line that says what is missing, and leaves nothing`(
        line: String,
        culprit: String
    ) async throws {
        try await DeployFolder.with { folder in
            let result = try await folder.dev(line.split(separator: " ").map(String.init))
            #expect(result.status == 1, "\(result.transcript)")
            expectOneLine(result, culprit)
            #expect(!folder.wasBuilt && folder.leftovers.isEmpty, "\(folder.leftovers)")
        }
    }

    private func expectOneLine(_ result: FinishedCommand, _ culprit: String) {
        let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 2 && lines[0].hasPrefix("deploy/dev") && lines[0].contains(culprit), "\(result.transcript)")
    }

    @Test func `files and folders are seen from the caller's folder, the default data folder from the repository`() async throws {
        try await DeployFolder.with { folder in
            try folder.write("binaries/streaksnap", "#!/bin/sh\necho \"$@\" >\"$2\"\n")
            let photo = try await folder.dev(["photo", "ada.jpg"])
            #expect(photo.status == 0, "\(photo.transcript)")
            #expect(folder.leftovers == ["caller/ada.jpg"])
            let elsewhere = try await folder.dev(["photo", "\(folder.caller.path)/ben.jpg", "--seed", "2"])
            #expect(elsewhere.status == 0 && folder.leftovers.contains("caller/ben.jpg"), "\(elsewhere.transcript)")
            #expect(try await folder.dev(["down", "--data", "mine"]).errors.contains("\(folder.caller.path)/mine"))
            #expect(try await folder.dev(["down"]).errors.contains("\(folder.root.path)/.run/data"))
        }
    }

    @Test func `a port in use is named before anything is built, with who holds it when that is one of ours`() async throws {
        let (socket, port) = try listening()
        defer { close(socket) }
        try await DeployFolder.with { folder in
            for options in [["--port", "\(port)"], ["--port", "1", "--admin-port", "\(port)"]] {
                let result = try await folder.dev(["up", "--data", "data"] + options)
                #expect(result.status == 1)
                expectOneLine(
                    result,
                    "port \(port) of 127.0.0.1 is in use; stop that, or choose another with \(options.dropLast().last ?? "")"
                )
            }
            // A process whose command line is that of a running system.
            // By a process of its own: a child that is forked while this one writes the file keeps it from being executed (ETXTBSY).
            let copy = try await run("cp", ["/bin/bash", folder.binaries.appending(path: "streaksnap").path])
            try #require(copy.status == 0, "\(copy.transcript)")
            let holder = try await ChildProcess.spawn(
                Command(
                    executable: folder.binaries.appending(path: "streaksnap").path,
                    arguments: ["-c", "sleep 600; exit", "up", "--port", "\(port)", "--data", "/some/data"],
                    environment: Command.inherited(),
                    output: "/dev/null"
                )
            )
            defer { holder.signal(SIGKILL) }
            try await until("it has its name") {
                (try? String(contentsOfFile: "/proc/\(holder.pid)/comm", encoding: .utf8)) == "streaksnap\n"
            }
            let result = try await folder.dev(["up", "--data", "data", "--port", "\(port)"])
            expectOneLine(result, "is in use by process \(holder.pid): ")
            expectOneLine(result, "--data /some/data")
            #expect(!folder.wasBuilt && folder.leftovers.isEmpty, "\(folder.leftovers)")
        }
    }

    /// A socket of ours that listens on a port of 127.0.0.1.
    private func listening() throws -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isListening)
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    @Test func `a system that does not start says its own last words, not what was logged before`() async throws {
        try await DeployFolder.with { folder in
            let program = "#!/bin/sh\necho '{\"message\":\"noise\"}' >&2\necho 'streaksnap: the cause' >&2\nexit 1\n"
            try folder.write("binaries/streaksnap", program)
            let logs = folder.caller.appending(path: "data/logs")
            try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true)
            try "an old line\n".write(to: logs.appending(path: "streaksnap.log"), atomically: true, encoding: .utf8)
            let result = try await folder.dev(["up", "--data", "data", "--port", "1"])
            #expect(result.status == 1)
            #expect(result.errors.contains("streaksnap: the cause\n"), "\(result.transcript)")
            #expect(!result.errors.contains("an old line") && !result.errors.contains("noise"), "\(result.transcript)")
            #expect(!folder.leftovers.contains("caller/data/up.pid"))
        }
    }

    @Test func `Ctrl-C while it starts says so, and returns when what was started has ended`() async throws {
        try await DeployFolder.with { folder in
            // Never ready; takes its time to end.
            let program = """
                #!/bin/bash
                trap 'sleep 0.3; touch ended; exit 0' TERM
                until [ -s "$7/up.pid" ]; do sleep 0.01; done
                kill -INT -- "-$(ps -o pgid= "$PPID" | tr -d ' ')"
                while sleep 0.01; do :; done
                """
            try folder.write("binaries/streaksnap", program)
            let result = try await folder.dev(["up", "--data", "data", "--port", "1"], session: true)
            #expect(result.status == 130, "\(result.transcript)")
            #expect(result.errors.contains("stopping what runs on \(folder.caller.path)/data"), "\(result.transcript)")
            #expect(folder.leftovers.contains("repository/ended") && !folder.leftovers.contains("caller/data/up.pid"))
        }
    }

    @Test func `a data folder on which another one's database runs is refused before anything is built`() async throws {
        try await DeployFolder.with { folder in
            let copy = try await run("cp", ["/bin/bash", folder.root.appending(path: "postgres").path])
            try #require(copy.status == 0, "\(copy.transcript)")
            let server = try await ChildProcess.spawn(
                Command(
                    executable: folder.root.appending(path: "postgres").path,
                    arguments: ["-c", "sleep 600; exit"],
                    environment: Command.inherited(),
                    output: "/dev/null"
                )
            )
            defer { server.signal(SIGKILL) }
            try await until("it has its name") {
                (try? String(contentsOfFile: "/proc/\(server.pid)/comm", encoding: .utf8)) == "postgres\n"
            }
            let cluster = folder.caller.appending(path: "data/postgres/cluster")
            try FileManager.default.createDirectory(at: cluster, withIntermediateDirectories: true)
            try "\(server.pid)\n".write(to: cluster.appending(path: "postmaster.pid"), atomically: true, encoding: .utf8)
            let result = try await folder.dev(["up", "--data", "data", "--port", "1"])
            #expect(result.status == 1)
            expectOneLine(result, "is in use: PostgreSQL runs on it as process \(server.pid)")
            #expect(!folder.wasBuilt)
        }
    }

    @Test func `the help of a command is its lines alone`() async throws {
        try await DeployFolder.with { folder in
            let result = try await folder.dev(["help", "down"])
            #expect(result.status == 0 && result.text == "  down [--data DIR]   stops what `up` started on this data folder\n")
            #expect(try await folder.dev(["down", "--help"]).text == result.text)
            let up = try await folder.dev(["help", "up"]).text
            #expect(up.hasPrefix("  up ") && up.contains("        --detach ") && !up.contains("  down "), "\(up)")
        }
    }

    @Test func `after failed tests all turns have run, and the last lines say which failed, with what and where`() async throws {
        try await DeployFolder.with { folder in
            // As swift-testing writes: many lines that pass, and a few that do not.
            let runner = """
                #!/bin/bash
                echo "$@" >>"$(dirname "$0")/turns"
                for n in {1..300}; do echo "✔ Test \\"passes $n\\" passed after 0.1 seconds."; done
                case "$*" in *"--filter EndToEndTests"* | *"--filter DomainTests"*) ;; *) exit 0 ;; esac
                printf "\\033[91m✘\\033[0m Test \\"breaks\\" recorded an issue at Some.swift:12:9: Expectation failed: (one → 1) == 2\\n"
                printf "\\033[90m↳ the reason of it, for $2\\033[0m\\n"
                echo "✘ Test \\"breaks\\" failed after 0.2 seconds with 1 issue."
                for n in {1..300}; do echo "✔ Test \\"passes late $n\\" passed after 0.1 seconds."; done
                exit 1
                """
            try folder.write("binaries/streaksnapPackageTests.xctest", runner)
            let result = try await folder.dev(["test"])
            #expect(result.status == 1)
            let turns = try String(contentsOf: folder.binaries.appending(path: "turns"), encoding: .utf8)
            #expect(turns.split(separator: "\n").count == 7, "\(turns)")
            let last = result.errors.split(separator: "\n").suffix(95)
            for turn in ["DomainTests|TranscodingTests|KernelTests", "EndToEndTests"] {
                #expect(last.contains { $0.hasPrefix("deploy/dev: failed (1): ") && $0.contains(turn) }, "\(last)")
                #expect(
                    last.contains { $0.contains("the reason of it") && $0.contains(turn) || $0.contains("for swift-testing") },
                    "\(last)"
                )
            }
            #expect(last.contains { $0.contains("recorded an issue at Some.swift:12:9: Expectation failed: (one → 1) == 2") })
            #expect(!last.contains { $0.contains("passed after") })
            let green = try await folder.dev(["test", "--filter", "SomethingElse"])
            #expect(green.status == 0 && !green.errors.contains("failed"), "\(green.errors)")
        }
    }

    @Test func `a test runner that crashes leaves its last lines at the end`() async throws {
        try await DeployFolder.with { folder in
            let runner = "#!/bin/bash\nfor n in {1..99}; do echo \"line $n\"; done\nkill -SEGV $$\n"
            try folder.write("binaries/streaksnapPackageTests.xctest", runner)
            let result = try await folder.dev(["test", "--filter", "Anything"])
            #expect(result.status != 0)
            #expect(result.errors.contains("line 99\n"), "\(result.errors)")
        }
    }
}
