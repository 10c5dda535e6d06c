private import Foundation
private import Processes
private import Synchronization

/// A private PostgreSQL for tests: in a folder of its own, on a Unix socket there, gone with the test process.
///
/// PostgreSQL refuses to run as root, so a test run by root starts it as user `postgres`. `POSTGRES_BIN=/path` runs another build.
public final class PostgresServer: Sendable {
    /// The server did not do what it was asked in time.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let folder: URL
    private let settings: [String]
    private let running = Mutex<ChildProcess?>(nil)

    private init(folder: URL, settings: [String]) {
        self.folder = folder
        self.settings = settings
    }

    deinit {
        let child = running.withLock { $0 }
        child?.signal(SIGQUIT)
        Task { [folder] in
            _ = await child?.waitForExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// The one server that all tests of a process share, each with a schema of its own.
    public static func shared() async throws -> PostgresServer { try await sharedTask.value }

    private static let sharedTask = Task { try await start() }

    /// The files of a new cluster, made once per process.
    private static let template = Task { () throws -> URL in
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("postgres-\(UUID().uuidString)")
        try await command("install", ["-d", "-m", "0711"] + (isRoot ? ["-o", "postgres"] : []) + [folder.path])
        try await removeWhenTestsEnd(folder)
        let data = folder.appendingPathComponent("data").path
        try await command(
            binary("initdb"),
            ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
            user: account
        )
        return folder
    }

    /// Starts a server of one's own, which a test may kill, and waits until it answers.
    ///
    /// - Parameters:
    ///   - isDurable: whether it survives a loss of power; a killed process never loses anything, so tests rarely need it.
    ///   - settings: further ones, `name=value`.
    public static func start(isDurable: Bool = false, settings: [String] = []) async throws -> PostgresServer {
        let template = try await template.value
        let folder = template.appendingPathComponent(UUID().uuidString.prefix(8).lowercased())
        try await command("mkdir", ["-m", "0711", folder.path])
        try await command("cp", ["-a", template.appendingPathComponent("data").path, folder.appendingPathComponent("data").path])
        if isRoot { try await command("chown", ["postgres", folder.path]) }
        let hasty = isDurable ? [] : ["fsync=off", "full_page_writes=off"]
        let server = PostgresServer(folder: folder, settings: hasty + settings)
        try await server.start()
        return server
    }

    /// A libpq connection string for the superuser; stays the same over restarts.
    public var connectionString: String { connectionString(user: "postgres") }

    /// A libpq connection string for another role.
    public func connectionString(user: String) -> String { connectionString(user: user, database: "postgres") }

    /// A libpq connection string for the superuser and another database.
    public func connectionString(database: String) -> String { connectionString(user: "postgres", database: database) }

    private func connectionString(user: String, database: String) -> String {
        "host='\(folder.path)' port=5432 dbname='\(database)' user='\(user)'"
    }

    /// The folder of the Unix socket.
    public var socketFolder: String { folder.path }

    /// What the server has logged.
    public var log: String { (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "" }

    /// Starts it again with the same data, and waits until it answers.
    public func start() async throws {
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while ContinuousClock.now < end {
            let child = try await ChildProcess.spawn(command)
            while ContinuousClock.now < end, !child.hasExited {
                if isReady(child.pid) { return running.withLock { $0 = child } }
                try await Task.sleep(for: .milliseconds(10))
            }
            // Processes of the life before may still be letting go of its memory.
            child.signal(SIGQUIT)
            _ = await child.waitForExit()
        }
        throw Failure(description: "PostgreSQL did not start: \(log)")
    }

    /// Stops it at once, without its farewells, and waits until it has.
    public func stop() async {
        guard let child = takeLife() else { return }
        child.signal(SIGQUIT)
        _ = await child.waitForExit()
    }

    /// `kill -9` to the server and all its processes, and waits until it is gone.
    public func kill() async {
        guard let child = takeLife() else { return }
        let children = children(of: child.pid)
        child.signal(SIGKILL)
        for child in children { Foundation.kill(child, SIGKILL) }
        _ = await child.waitForExit()
    }

    /// Freezes all its processes: connections stay open, nothing is answered.
    public func pause() { signalAll(SIGSTOP) }

    /// Lets a frozen server go on.
    public func resume() { signalAll(SIGCONT) }

    private func signalAll(_ number: Int32) {
        guard let child = running.withLock({ $0 }) else { return }
        child.signal(number)
        // While some of them end, others may be left out (proc(5)).
        for _ in 0..<3 { for child in children(of: child.pid) { Foundation.kill(child, number) } }
    }

    private func children(of pid: pid_t) -> [pid_t] {
        ProcessFiles.text(pid, "task/\(pid)/children").split(separator: " ").compactMap { pid_t($0) }
    }

    private func takeLife() -> ChildProcess? {
        running.withLock { running in
            defer { running = nil }
            return running
        }
    }

    private var command: Command {
        let options = [
            "listen_addresses=", "unix_socket_directories=\(folder.path)", "shared_buffers=32MB", "max_connections=500",
            // Its memory lies in its folder: in /dev/shm it would outlive a server that a test has killed.
            "dynamic_shared_memory_type=mmap",
        ]
        return Command(
            executable: Self.binary("postgres"),
            arguments: ["-D", folder.appendingPathComponent("data").path] + (options + settings).flatMap { ["-c", $0] },
            environment: Command.inherited(),
            user: Self.account,
            deathSignal: "QUIT",
            output: folder.appendingPathComponent("log").path
        )
    }

    /// Whether the server with this process id says in its lock file that it takes connections.
    private func isReady(_ pid: pid_t) -> Bool {
        let file = folder.appendingPathComponent("data/postmaster.pid")
        let lines = ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        return lines.count > 7 && lines[0] == "\(pid)" && lines[7].hasPrefix("ready")
    }

    private static var isRoot: Bool { geteuid() == 0 }

    private static var account: String? { isRoot ? "postgres" : nil }

    /// The path of a program of PostgreSQL's.
    public static func binary(_ name: String) -> String {
        (ProcessInfo.processInfo.environment["POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin") + "/" + name
    }

    private static func command(_ program: String, _ arguments: [String], user: String? = nil) async throws {
        let command = Command(
            executable: program,
            arguments: arguments,
            environment: Command.inherited(),
            user: user,
            output: "/dev/null"
        )
        let status = try await ChildProcess.spawn(command).waitForExit()
        guard status == 0 else { throw Failure(description: "\(program) failed with \(status)") }
    }
}
