import Database
import DevEnvironment
import Foundation
import Kernel
import Logging
import Processes

/// What is killed.
enum Victim: String, CaseIterable, Sendable {
    case media, streaks, gateway, nats, postgres
}

/// `streaksnap up --separate --dev-clock` of our own: what an operator has, whose supervisor brings back what was killed.
struct ChaosSystem: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let services = ["auth", "social", "streaks", "media", "notifications", "billing"]

    let folder: String
    let api: API
    /// All rights: for looking only.
    let database: Database
    private let binaries: String
    private let program: ChildProcess

    var data: String { folder + "/data" }
    var blobs: String { data + "/blobs" }

    /// - Parameters:
    ///   - folder: takes everything; the user `postgres` can reach it.
    ///   - binaries: the folder of the executables.
    static func start(folder: String, binaries: String, logger: Logger) async throws -> ChaosSystem {
        let port = try freePort()
        let ready = folder + "/ready"
        let program = try await ChildProcess.spawn(
            Command(
                executable: binaries + "/streaksnap",
                arguments: [
                    "up", "--separate", "--dev-clock", "--port", "\(port)", "--data", folder + "/data", "--bcrypt-cost", "4",
                    "--ready-file", ready,
                ],
                environment: Command.inherited(["STREAKSNAP_HTTP_USER_RATE": "0", "STREAKSNAP_HTTP_ADDRESS_RATE": "0"]),
                deathSignal: "TERM",
                output: folder + "/up.log"
            )
        )
        do {
            try await awaitReady(program, ready, folder)
            return ChaosSystem(
                folder: folder,
                api: API(address: "http://127.0.0.1:\(port)"),
                database: try await openDatabase(folder, logger),
                binaries: binaries,
                program: program
            )
        } catch {
            await end(program)
            throw error
        }
    }

    private static func awaitReady(_ program: ChildProcess, _ file: String, _ folder: String) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(120))
        while !FileManager.default.fileExists(atPath: file) {
            guard !program.hasExited, ContinuousClock.now < deadline else {
                let log = (try? String(contentsOfFile: folder + "/up.log", encoding: .utf8)) ?? ""
                throw Failure(description: "the system did not start: \(log.suffix(4_000))")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func openDatabase(_ folder: String, _ logger: Logger) async throws -> Database {
        let password = try String(contentsOfFile: folder + "/data/secrets/postgres-admin", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let media = try RunningEnvironment(dataFolder: folder + "/data").postgresURL(of: "media")
        let place = media.split(separator: "@").last.map(String.init) ?? ""
        let database = Database(
            DatabaseConfiguration(
                connectionString: "postgresql://postgres:\(password)@\(place)",
                schema: "media",
                applicationName: "chaos",
                poolSize: 4
            ),
            logger: logger
        )
        try await database.start()
        return database
    }

    /// The process of a victim, as it is now; nil while it is being started again. Only children of the system we started.
    func process(of victim: Victim) -> pid_t? {
        let (name, file) =
            switch victim {
            case .nats: ("nats-server", nil as String?)
            case .postgres: ("postgres", data + "/postgres/cluster/postmaster.pid")
            default: (victim.rawValue, data + "/\(victim.rawValue).pid")
            }
        if let file {
            let line = (try? String(contentsOfFile: file, encoding: .utf8))?.split(separator: "\n").first
            return line.flatMap { pid_t($0) }.flatMap { isOurs($0, name) ? $0 : nil }
        }
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.lazy.compactMap { pid_t($0) }.first { isOurs($0, name) }
    }

    private func isOurs(_ pid: pid_t, _ name: String) -> Bool {
        // «123 (name) S parent …»; the name may hold anything.
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let open = stat.firstIndex(of: "("), let close = stat.lastIndex(of: ")")
        else { return false }
        let rest = stat[stat.index(after: close)...].split(separator: " ")
        return stat[stat.index(after: open)..<close] == name && rest.count > 1 && rest[0] != "Z" && rest[1] == "\(program.pid)"
    }

    /// Whether every service answers the gateway.
    func isReady() async -> Bool {
        (try? await api.send(API.Request(path: "/readyz", timeout: .seconds(5))))?.status == 200
    }

    /// Files of uploads that are not taken up yet, or never will be.
    func incoming() -> [String] { Self.files(blobs + "/incoming") }

    /// Files that are being written, or never will be whole.
    func halfWritten() -> [String] { Self.files(blobs + "/.temporary") }

    private static func files(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// What the development clock shows.
    func now() async throws -> Instant {
        let text = try await api.ask(API.Request(path: "/api/dev/clock"), as: Time.self).now
        guard let now = Instant(rfc3339: text) else { throw Failure(description: "no time: \(text)") }
        return now
    }

    /// Moves the development clock; everything due by then has been done when it returns.
    func go(to instant: Instant) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while !(await isReady()) {
            guard ContinuousClock.now < deadline else { throw Failure(description: "not every service answered within 60 s") }
            try await Task.sleep(for: .milliseconds(25))
        }
        let body = "{\"set\":\"\(instant)\"}"
        let request = API.Request(method: "POST", path: "/api/dev/clock", body: Array(body.utf8), timeout: .seconds(140))
        let _: Time = try await api.ask(request)
    }

    /// `media check-blobs`: whether every blob has its row, and every row its blobs.
    func checkBlobs() async throws -> FinishedCommand {
        try await Processes.run(
            binaries + "/media",
            ["check-blobs", "--older-than", "0"],
            environment: [
                "STREAKSNAP_BLOB_FOLDER": blobs,
                "STREAKSNAP_DATABASE_URL": try RunningEnvironment(dataFolder: data).postgresURL(of: "media"),
            ]
        )
    }

    func stop() async {
        await database.stop()
        await Self.end(program)
    }

    private static func end(_ program: ChildProcess) async {
        program.signal(SIGTERM)
        let timeout = Task {
            try await Task.sleep(for: .seconds(40))
            program.signal(SIGKILL)
        }
        _ = await program.waitForExit()
        timeout.cancel()
    }

    /// A port that was free just now.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw Failure(description: "no free port: \(errno)") }
        return UInt16(bigEndian: address.sin_port)
    }
}
