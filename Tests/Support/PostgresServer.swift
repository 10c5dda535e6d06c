private import Foundation
private import Synchronization

/// A private PostgreSQL for tests: in a folder of its own, on a Unix socket there, gone with the test process.
///
/// PostgreSQL refuses to run as root, so a test run by root starts it as user `postgres`. `POSTGRES_BIN=/path` runs another build.
public final class PostgresServer: Sendable {
    /// The server did not do what it was told in time.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let folder: URL
    private let settings: [String]
    private let running = Mutex<Running?>(nil)

    /// One life of the server.
    private struct Running {
        let pid: pid_t
        let guardian: Process
        let lifeline: Pipe
    }

    private init(folder: URL, settings: [String]) {
        self.folder = folder
        self.settings = settings
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The one server that all tests of a process share, each with a schema of its own.
    public static func shared() async throws -> PostgresServer { try await sharedTask.value }

    private static let sharedTask = Task { try await start() }

    /// The files of a new cluster, made once per process.
    private static let template = Task { () throws -> URL in
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("postgres-\(UUID().uuidString)")
        try command("/usr/bin/install", ["-d", "-m", "0711"] + (isRoot ? ["-o", "postgres"] : []) + [folder.path])
        try keepUntilTheEnd(folder)
        let data = folder.appendingPathComponent("data").path
        try command(
            asPostgres[0],
            asPostgres.dropFirst()
                + [binary("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        )
        return folder
    }

    /// Removes a folder after this process, and the servers in it, have ended.
    private static func keepUntilTheEnd(_ folder: URL) throws {
        let guardian = Process()
        let lifeline = Pipe()
        guardian.executableURL = URL(fileURLWithPath: "/bin/sh")
        guardian.arguments = ["-c", "read _; for n in 1 2 3; do rm -rf \"$1\"; sleep 1; done", "sh", folder.path]
        guardian.standardInput = lifeline
        guardian.standardOutput = FileHandle.nullDevice
        guardian.standardError = FileHandle.nullDevice
        try guardian.run()
        lifelines.withLock { $0.append(lifeline) }
    }

    private static let lifelines = Mutex<[Pipe]>([])

    /// Starts a server of one's own, which a test may kill, and waits until it answers.
    ///
    /// - Parameters:
    ///   - isDurable: whether it survives a loss of power; a killed process never loses anything, so tests rarely need it.
    ///   - settings: further ones, `name=value`.
    public static func start(isDurable: Bool = false, settings: [String] = []) async throws -> PostgresServer {
        let template = try await template.value
        let folder = template.appendingPathComponent(UUID().uuidString.prefix(8).lowercased())
        try command("/bin/mkdir", ["-m", "0711", folder.path])
        try command("/bin/cp", ["-a", template.appendingPathComponent("data").path, folder.appendingPathComponent("data").path])
        if isRoot { try command("/bin/chown", ["postgres", folder.path]) }
        let server = PostgresServer(folder: folder, settings: (isDurable ? [] : ["fsync=off"]) + settings)
        try await server.start()
        return server
    }

    /// A libpq connection string for the superuser; stays the same over restarts.
    public var connectionString: String { connectionString(user: "postgres") }

    /// A libpq connection string for another role.
    public func connectionString(user: String) -> String { "host='\(folder.path)' port=5432 dbname=postgres user='\(user)'" }

    /// The folder of the Unix socket.
    public var socketFolder: String { folder.path }

    /// What the server has logged.
    public var log: String { (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "" }

    /// Starts it again with the same data, and waits until it answers.
    public func start() async throws {
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < end {
            let life = try launch()
            while ContinuousClock.now < end, !Self.isGone(life.pid) {
                if (try? Self.command(Self.binary("pg_isready"), ["-q", "-h", folder.path])) != nil {
                    return running.withLock { $0 = life }
                }
                try await Task.sleep(for: .milliseconds(20))
            }
            // Processes of the life before may still be letting go of its memory.
            Self.finish(life, SIGQUIT)
        }
        throw Failure(description: "PostgreSQL did not start: \(log)")
    }

    /// Stops it at once, without its farewells, and waits until it has.
    public func stop() {
        if let life = takeLife() { Self.finish(life, SIGQUIT) }
    }

    /// `kill -9` to the server and all its processes.
    public func kill() {
        guard let life = takeLife() else { return }
        let children = (try? String(contentsOfFile: "/proc/\(life.pid)/task/\(life.pid)/children", encoding: .utf8)) ?? ""
        Foundation.kill(life.pid, SIGKILL)
        for child in children.split(separator: " ").compactMap({ pid_t($0) }) { Foundation.kill(child, SIGKILL) }
        Self.finish(life, SIGKILL)
    }

    /// Freezes all its processes: connections stay open, nothing is answered.
    public func pause() { signalAll(SIGSTOP) }

    /// Lets a frozen server go on.
    public func resume() { signalAll(SIGCONT) }

    private func signalAll(_ number: Int32) {
        guard let pid = running.withLock({ $0?.pid }) else { return }
        Foundation.kill(pid, number)
        let children = (try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)) ?? ""
        for child in children.split(separator: " ").compactMap({ pid_t($0) }) { Foundation.kill(child, number) }
    }

    private func takeLife() -> Running? {
        running.withLock { running in
            defer { running = nil }
            return running
        }
    }

    /// The shell is the server's guardian: it stops the server when our end of its standard input closes, however we die. It does
    /// not `wait`: our threads block SIGCHLD, it inherits that, and would wait for ever.
    private func launch() throws -> Running {
        let guardian = Process()
        let (lifeline, output) = (Pipe(), Pipe())
        guardian.executableURL = URL(fileURLWithPath: "/bin/sh")
        let options = [
            "listen_addresses=", "unix_socket_directories=\(folder.path)", "shared_buffers=32MB", "max_connections=500",
        ]
        guardian.arguments =
            [
                "-c",
                """
                log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & p=$!; echo $p; exec 1>&-
                read _; kill -QUIT $p
                while read -r s </proc/$p/stat && case $s in *") Z "*) false;; esac; do sleep 0.02; done 2>/dev/null
                """,
                "sh", folder.appendingPathComponent("log").path,
            ] + Self.asPostgres + [Self.binary("postgres"), "-D", folder.appendingPathComponent("data").path]
            + (options + settings).flatMap { ["-c", $0] }
        guardian.standardInput = lifeline
        guardian.standardOutput = output
        guardian.standardError = FileHandle.nullDevice
        try guardian.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let pid = pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Failure(description: "no process id of postgres: \(line)")
        }
        return Running(pid: pid, guardian: guardian, lifeline: lifeline)
    }

    private static func finish(_ life: Running, _ signal: Int32) {
        // The guardian has not reaped it yet, so the number cannot have gone to another process.
        Foundation.kill(life.pid, signal)
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while ContinuousClock.now < end, !isGone(life.pid) { usleep(2_000) }
        try? life.lifeline.fileHandleForWriting.close()
        life.guardian.waitUntilExit()
    }

    private static func isGone(_ pid: pid_t) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
        return stat.split(separator: ")").last?.split(separator: " ").first == "Z"
    }

    private static var isRoot: Bool { geteuid() == 0 }

    private static var asPostgres: [String] {
        isRoot ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : ["/usr/bin/env"]
    }

    /// The path of a program of PostgreSQL's.
    public static func binary(_ name: String) -> String {
        (ProcessInfo.processInfo.environment["POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin") + "/" + name
    }

    private static func command(_ path: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(path) failed with \(process.terminationStatus)")
        }
    }
}
