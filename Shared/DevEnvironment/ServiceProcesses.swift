private import Foundation
private import Glibc
public import Logging
package import Processes

/// The executables of the services as processes beside a private environment, each started again when it ends by itself.
public actor ServiceProcesses {
    /// One executable with its arguments and environment.
    public struct Executable: Sendable {
        /// Its name; also that of its log and of the file with its process id.
        public var name: String
        /// Where it is.
        public var path: String
        /// Its whole environment but for `SWIFT_BACKTRACE`, which it inherits: whether it writes into its log where it crashed.
        public var environment: [String: String]
        /// A socket for it to accept from, which stays open while it restarts; several may share one.
        package var listener: ListeningSocket?

        /// An executable.
        public init(name: String, path: String, environment: [String: String]) {
            self.name = name
            self.path = path
            self.environment = environment
        }

        /// Opens a socket for it to accept from (`LISTEN_FDS`).
        ///
        /// - Parameters:
        ///   - host: an IPv4 address of this machine; 0.0.0.0 for all.
        ///   - port: 1 to 65535.
        /// - Throws: an error that says why the address cannot be listened on.
        public mutating func listen(host: String, port: UInt16) throws {
            listener = try ListeningSocket(host: host, port: port)
        }
    }

    private let logFolder: String
    private let pidFolder: String
    private let logger: Logger
    private var servers: [SupervisedServer] = []

    /// - Parameters:
    ///   - logFolder: takes `<name>.log`.
    ///   - pidFolder: takes `<name>.pid`, which always names the process that runs now.
    public init(logFolder: String, pidFolder: String, logger: Logger) {
        self.logFolder = logFolder
        self.pidFolder = pidFolder
        self.logger = logger
    }

    /// Starts them all, in the order given, without waiting for any to be ready.
    ///
    /// - Throws: `DevEnvironmentError` when one cannot be started.
    public func start(_ executables: [Executable]) async throws {
        let inherited = ProcessInfo.processInfo.environment.filter { $0.key == "SWIFT_BACKTRACE" }
        for executable in executables {
            let log = "\(logFolder)/\(executable.name).log"
            Files.rotate(log)
            let command = Command(
                executable: executable.path,
                arguments: [],
                environment: executable.environment.merging(inherited) { own, _ in own },
                deathSignal: "TERM",
                output: log,
                listener: executable.listener
            )
            let server = SupervisedServer(
                name: executable.name,
                command: command,
                stopSignals: [SIGTERM],
                pidFile: "\(pidFolder)/\(executable.name).pid",
                logger: logger
            )
            try await server.start(timeout: .seconds(10)) { true }
            servers.append(server)
        }
    }

    /// Stops them all, last started first.
    public func stop() async {
        for server in servers.reversed() { await server.stop() }
        servers = []
    }
}
