import Foundation
import Processes
import Synchronization
import TestSupport
import Testing

/// The executables as an operating system runs them.
struct TerminationTests {
    /// What those who ask share.
    private final class Load: Sendable {
        let isOver = Atomic(false)
        let made = Atomic(0)
    }

    /// A further replica of billing.
    private func replica(_ home: Installation, admin: UInt16, log: URL) async throws -> ChildProcess {
        try await ChildProcess.spawn(
            Command(
                executable: Installation.binaries.appending(path: "billing").path,
                arguments: ["--admin-port", "\(admin)"],
                environment: Command.inherited([
                    "STREAKSNAP_NATS_URL": "nats://127.0.0.1:\(home.natsPort)",
                    "STREAKSNAP_NATS_PASSWORD_FILE": home.data.appending(path: "secrets/nats-billing").path,
                    "STREAKSNAP_DATABASE_URL":
                        "postgresql://billing:\(try home.secret("postgres-billing"))@127.0.0.1:\(home.postgresPort)/streaksnap",
                ]),
                output: log.path
            )
        )
    }

    @Test func `a replica that is asked to end under load ends well, and no request fails`() async throws {
        let home = try await Installation.shared.value
        let person = try await Person.register("ned", at: home)
        let log = FileManager.default.temporaryDirectory.appending(path: "streaksnap-e2e-\(UUID().uuidString.prefix(8)).log")
        defer { try? FileManager.default.removeItem(at: log) }
        let load = Load()
        let failures = try await withThrowingTaskGroup(of: [String].self) { tasks in
            defer { load.isOver.store(true, ordering: .relaxed) }
            for _ in 0..<4 {
                tasks.addTask {
                    var failures: [String] = []
                    while !load.isOver.load(ordering: .relaxed), failures.count < 5 {
                        do {
                            let reply = try await person.get("/api/recovery/balance")
                            if reply.status != 200 { failures.append(reply.text) }
                            load.made.add(1, ordering: .relaxed)
                        } catch { failures.append("\(error)") }
                    }
                    return failures
                }
            }
            for signal in [SIGTERM, SIGINT, SIGHUP] {
                let admin = try Installation.freePorts(1)[0]
                let child = try await replica(home, admin: admin, log: log)
                defer { child.signal(SIGKILL) }
                try await eventually("the replica answers its share") {
                    try #require(!child.hasExited, "\(Files.text(log) ?? "")")
                    guard let page = try? await HTTPClient(port: admin).send("GET", "/metrics").text else { return false }
                    return page.contains(/streaksnap_rpc_total\{[^}]*GetRecoveryBalance[^}]*code="ok"\} [1-9]\d/)
                }
                child.signal(signal)
                #expect(await child.waitForExit() == 0)
                let before = load.made.load(ordering: .relaxed)
                try await eventually("requests go on") { load.made.load(ordering: .relaxed) > before + 20 }
            }
            load.isOver.store(true, ordering: .relaxed)
            return try await tasks.reduce(into: []) { $0 += $1 }
        }
        #expect(failures.isEmpty, "\(failures.prefix(3))")
        let lines = (Files.text(log) ?? "").split(separator: "\n")
        #expect(lines.filter { $0.contains("\"stopped\"") }.count == 3)
        for line in lines { #expect((try? JSON(Array(line.utf8))) != nil, "\(line)") }
    }

    @Test func `a thread that wakes takes no processor from another: everything runs under SCHED_BATCH`() async throws {
        let home = try await Installation.separate.value
        var processes: [pid_t: String] = [:]
        // Other tests kill some, which start anew.
        try await eventually("every process is there") {
            processes = home.processes()
            return Set(processes.values).isSuperset(of: LinkageTests.services + ["nats-server", "postgres"])
        }
        for (process, name) in processes {
            // A thread or a connection may end meanwhile.
            for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? [] {
                guard let text = Files.text(URL(filePath: "/proc/\(process)/task/\(thread)/stat")) else { continue }
                // Behind the name, which may have spaces: state is field 3, the policy field 41 (proc(5)).
                let fields = text[text.index(after: text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
                #expect(fields[41 - 3] == "3", "\(name): \(text)")
            }
        }
    }

    @Test(arguments: ["billing", "gateway"]) func `a setting without its value is named, and nothing starts`(name: String)
        async throws
    {
        for (arguments, culprit) in [
            (["--admin-port", "1", "--nats-url"], "--nats-url"), (["--nats-user", "--log-level", "info"], "--nats-user"),
        ] {
            let result = try await run(Installation.binaries.appending(path: name).path, arguments)
            #expect(result.status == 64)
            #expect(result.errors.contains("\(culprit) needs a value"), "\(result.transcript)")
        }
    }
}
