public import Foundation
private import Synchronization

/// A private nats-server for one test: on a free port, with its JetStream store in a folder of its own, gone with the test process.
///
/// `NATS_SERVER=/path` runs the tests against another build.
public final class NatsServer: Sendable {
    /// The server did not do what it was told in time.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let folder: URL
    private let configuration: String
    private let state = Mutex(State())

    private struct State {
        var port: Int?
        var running: Running?
    }

    /// One life of the server.
    private struct Running {
        let pid: pid_t
        let guardian: Guardian
    }

    private init(folder: URL, configuration: String) {
        self.folder = folder
        self.configuration = configuration
    }

    deinit {
        if let running = state.withLock({ $0.running }) { Self.finish(running, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts a server and waits until it answers.
    ///
    /// - Parameter configuration: further lines of its configuration file, such as accounts.
    public static func start(configuration: String = "") async throws -> NatsServer {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("nats-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = NatsServer(folder: folder, configuration: configuration)
        try await server.start()
        return server
    }

    /// `nats://127.0.0.1:4222`; stays the same over restarts.
    public var url: String { "nats://127.0.0.1:\(state.withLock { $0.port } ?? 0)" }

    /// Where the test may put files for the server.
    public var files: URL { folder }

    /// What the server has logged.
    public var log: String { (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "" }

    /// Starts it again, on the same port and with the same data.
    ///
    /// - Parameter configuration: Instead of the lines it was started with before.
    public func start(configuration: String? = nil) async throws {
        let port = state.withLock { $0.port } ?? -1
        let file = folder.appendingPathComponent("nats.conf")
        try """
        listen: "127.0.0.1:\(port)"
        ports_file_dir: "\(folder.path)"
        jetstream { store_dir: "\(folder.path)/store" }
        \(configuration ?? self.configuration)
        """.write(to: file, atomically: true, encoding: .utf8)
        let running = try launch(file)
        let ports = folder.appendingPathComponent("\(binary.lastPathComponent)_\(running.pid).ports")
        state.withLock { $0.running = running }
        let end = ContinuousClock.now.advanced(by: .seconds(20))
        while ContinuousClock.now < end {
            if let found = Self.port(in: ports) {
                return state.withLock { $0.port = found }
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failure(description: "nats-server did not start: \(log)")
    }

    /// Asks it to stop, and waits until it has.
    public func stop() { end(SIGTERM) }

    /// `kill -9`, and waits until it is gone.
    public func kill() { end(SIGKILL) }

    /// Freezes it: connections stay open, nothing is answered.
    public func pause() {
        signal(SIGSTOP)
        // The signal reaches its threads one after the other: the last of them may still answer a request.
        guard let pid = state.withLock({ $0.running?.pid }) else { return }
        let end = ContinuousClock.now.advanced(by: .seconds(5))
        while ContinuousClock.now < end, !Self.isFrozen(pid) { usleep(500) }
    }

    /// Lets a frozen server go on.
    public func resume() { signal(SIGCONT) }

    private var binary: URL {
        URL(fileURLWithPath: ProcessInfo.processInfo.environment["NATS_SERVER"] ?? "/usr/sbin/nats-server")
    }

    private func launch(_ file: URL) throws -> Running {
        // The shell is the server's guardian: it kills the server when our end of its standard input closes, however we die.
        let script =
            "exec 2>/dev/null; \"$1\" -c \"$2\" >>\"$3\" 2>&1 </dev/null & p=$!; echo $p; exec 1>&-; read _; kill -9 $p; wait $p"
        let log = folder.appendingPathComponent("log").path
        let child = try Guardian.spawn(["/bin/sh", "-c", script, "sh", binary.path, file.path, log])
        guard let pid = pid_t(child.readLine()) else { throw Failure(description: "no process id of nats-server") }
        return Running(pid: pid, guardian: child)
    }

    private func signal(_ number: Int32) {
        if let running = state.withLock({ $0.running }) { Foundation.kill(running.pid, number) }
    }

    private func end(_ signal: Int32) {
        let running = state.withLock { state in
            defer { state.running = nil }
            return state.running
        }
        if let running { Self.finish(running, signal) }
    }

    private static func finish(_ running: Running, _ signal: Int32) {
        Foundation.kill(running.pid, signal)
        // The guardian has not reaped it yet, so the number cannot have gone to another process.
        let end = ContinuousClock.now.advanced(by: .seconds(5))
        while ContinuousClock.now < end, !isGone(running.pid) { usleep(2_000) }
        running.guardian.end()
    }

    private static func isGone(_ pid: pid_t) -> Bool { [nil, "Z"].contains(status("/proc/\(pid)/stat")) }

    private static func isFrozen(_ pid: pid_t) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
        return threads.allSatisfy { [nil, "T"].contains(status("/proc/\(pid)/task/\($0)/stat")) }
    }

    /// The letter of a process or thread; nil when there is none.
    private static func status(_ path: String) -> Substring? {
        guard let stat = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return stat.split(separator: ")").last?.split(separator: " ").first
    }

    private static func port(in file: URL) -> Int? {
        struct Ports: Decodable { let nats: [String] }
        guard let data = try? Data(contentsOf: file), let ports = try? JSONDecoder().decode(Ports.self, from: data) else {
            return nil
        }
        return ports.nats.first?.split(separator: ":").last.flatMap { Int($0) }
    }
}
