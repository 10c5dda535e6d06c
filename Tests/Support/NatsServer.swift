public import Foundation
private import Processes
private import Synchronization

/// A private nats-server for one test: on a free port, with its JetStream store in a folder of its own, gone with the test process.
///
/// `NATS_SERVER=/path` runs the tests against another build.
public final class NatsServer: Sendable {
    /// The server did not do what it was asked in time.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private let folder: URL
    private let configuration: String
    private let state = Mutex(State())

    private struct State {
        var port: Int?
        var child: ChildProcess?
    }

    private init(folder: URL, configuration: String) {
        self.folder = folder
        self.configuration = configuration
    }

    deinit {
        let child = state.withLock { $0.child }
        child?.signal(SIGKILL)
        Task { [folder] in
            _ = await child?.waitForExit()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// Starts a server and waits until it answers.
    ///
    /// - Parameter configuration: further lines of its configuration file, such as accounts.
    public static func start(configuration: String = "") async throws -> NatsServer {
        let server = NatsServer(folder: try await makeServerFolder("nats"), configuration: configuration)
        try await server.start()
        return server
    }

    /// `nats://127.0.0.1:4222`; stays the same over restarts.
    public var url: String { "nats://127.0.0.1:\(state.withLock { $0.port } ?? 0)" }

    /// Where the test may put files for the server.
    public var files: URL { folder }

    /// What the server has logged.
    public var log: String { (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "" }

    /// Whether it has ended, of itself or by `stop` or `kill`.
    public var hasExited: Bool { state.withLock { $0.child?.hasExited ?? true } }

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
        let command = Command(
            executable: binary.path,
            arguments: ["-c", file.path],
            output: folder.appendingPathComponent("log").path
        )
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        repeat {
            let child = try await ChildProcess.spawn(command)
            let ports = folder.appendingPathComponent("\(binary.lastPathComponent)_\(child.pid).ports")
            state.withLock { $0.child = child }
            while ContinuousClock.now < end, !child.hasExited {
                if let found = Self.port(in: ports) {
                    return state.withLock { $0.port = found }
                }
                try await Task.sleep(for: .milliseconds(5))
            }
            // While it was away, a connection of another process may have got its port for a moment.
            try await Task.sleep(for: .milliseconds(50))
        } while log.contains("address already in use") && ContinuousClock.now < end
        throw Failure(description: "nats-server did not start: \(log)")
    }

    /// Asks it to stop, and waits until it has.
    public func stop() async { await end(SIGTERM) }

    /// `kill -9`, and waits until it is gone.
    public func kill() async { await end(SIGKILL) }

    /// Freezes it: connections stay open, nothing is answered.
    public func pause() async {
        signal(SIGSTOP)
        // The signal reaches its threads one after the other: the last of them may still answer a request.
        guard let pid = state.withLock({ $0.child?.pid }) else { return }
        while !Self.isFrozen(pid), (try? await Task.sleep(for: .microseconds(500))) != nil {}
    }

    /// Lets a frozen server go on.
    public func resume() { signal(SIGCONT) }

    private var binary: URL {
        URL(fileURLWithPath: ProcessInfo.processInfo.environment["NATS_SERVER"] ?? "/usr/sbin/nats-server")
    }

    private func signal(_ number: Int32) { state.withLock { $0.child }?.signal(number) }

    private func end(_ number: Int32) async {
        let child = state.withLock { state in
            defer { state.child = nil }
            return state.child
        }
        guard let child else { return }
        child.signal(number)
        // A frozen server reacts to no other signal.
        let timeout = Task {
            try await Task.sleep(for: .seconds(20))
            child.signal(SIGKILL)
        }
        _ = await child.waitForExit()
        timeout.cancel()
    }

    private static func isFrozen(_ pid: pid_t) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
        return threads.allSatisfy { [nil, "T", "Z"].contains(status("/proc/\(pid)/task/\($0)/stat")) }
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
