internal import Bus
private import Glibc
internal import Kernel
public import Logging
internal import UnixSignals

/// One running process of an executable: a replica of a service, or a gateway.
public protocol Program: Sendable {
    /// What the executable is called.
    static var name: String { get }
    /// One sentence for `--help`.
    static var about: String { get }
    /// Its semantic version, for `--version`.
    static var version: String { get }
    /// Everything that can be set.
    static var settings: [any AnySetting] { get }
    /// What the executable can do besides running.
    static var commands: [ProgramCommand] { get }

    /// A process that is not started yet.
    ///
    /// - Throws: `Settings.Invalid`.
    init(settings: Settings, logger: Logger, metrics: Metrics) throws
    /// Returns when it answers requests. What fails has stopped what was started.
    func start() async throws
    /// Takes no more requests, finishes what runs, and closes everything.
    func stop() async
    /// Whether it can do its work: for `/readyz`.
    var isReady: Bool { get }
}

extension Program {
    public static var version: String { BuildInfo.version }
    public static var commands: [ProgramCommand] { [] }
}

/// Something an operator does with an executable besides running it: `streaks declare-outage FROM UNTIL`.
public struct ProgramCommand: Sendable {
    /// The first word of the command line.
    public let name: String
    /// Its lines in `--help`.
    public let help: String
    /// The settings it needs, as arguments after its words.
    public let settings: [any AnySetting]
    /// Does it.
    public let run: @Sendable (_ words: [String], Settings) async throws -> Outcome

    /// What came of it.
    public struct Outcome: Sendable {
        /// For standard output.
        public var output: String
        /// 0 for success.
        public var exitCode: Int32

        /// An outcome; a success unless said otherwise.
        public init(_ output: String, exitCode: Int32 = 0) {
            self.output = output
            self.exitCode = exitCode
        }
    }

    /// A command.
    ///
    /// - Parameter run: gets the words after its name; throws `Settings.Invalid` for words it does not know.
    public init(
        _ name: String,
        help: String,
        settings: [any AnySetting],
        run: @escaping @Sendable (_ words: [String], Settings) async throws -> Outcome
    ) {
        self.name = name
        self.help = help
        self.settings = settings
        self.run = run
    }
}

/// The body of an executable.
public enum ProgramMain {
    /// Runs one process until SIGTERM or SIGINT, then stops it; or does the command that the arguments name. Exits 0 after a clean stop, 64
    /// for unusable settings, 1 when it could not start.
    public static func run<P: Program>(_: P.Type) async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let command = P.commands.first(where: { $0.name == arguments.first }) {
            return await run(command, Array(arguments.dropFirst()), of: P.name)
        }
        if arguments.contains("--help") {
            let commands = P.commands.isEmpty ? "" : "\nCommands:\n\n" + P.commands.map(\.help).joined()
            return Console.out(Settings.help(program: P.name, about: P.about, declared: P.settings) + commands)
        }
        if arguments.contains("--version") { return Console.out(P.version + "\n") }
        await exiting(P.name, failure: "could not start") {
            let settings = try await Settings(
                arguments: arguments,
                environment: Console.environment(),
                declared: P.settings
            )
            try await serve(P.self, settings)
        }
    }

    private static func serve<P: Program>(_: P.Type, _ settings: Settings) async throws {
        try settings.checkAll()
        Scheduling.preferThroughput()
        OpenFiles.allowMany()
        FreedMemory.keep()
        let logger = try Logger(service: P.name, settings: settings)
        let metrics = Metrics()
        let program = try P(settings: settings, logger: logger, metrics: metrics)
        // What the process itself exposes says whose it is too.
        let own = metrics.labelled([("service", P.name)])
        let admin = try await AdminServer.start(settings, metrics: own, logger: logger) { program.isReady }
        try await program.start()
        await StopSignals().first()
        await program.stop()
        admin?.cancel()
    }

    private static func run(_ command: ProgramCommand, _ arguments: [String], of program: String) async {
        let words = Array(arguments.prefix { !$0.hasPrefix("--") })
        await exiting("\(program) \(command.name)", failure: nil) {
            let settings = try await Settings(
                arguments: Array(arguments.dropFirst(words.count)),
                environment: Console.environment(),
                declared: command.settings
            )
            let outcome = try await command.run(words, settings)
            Console.out(outcome.output)
            if outcome.exitCode != 0 { exit(outcome.exitCode) }
        }
    }

    /// Says on standard error what went wrong, and ends the process.
    private static func exiting(_ name: String, failure: String?, _ body: () async throws -> Void) async {
        do { try await body() } catch let error as Settings.Invalid {
            Console.error("\(name): \(error)\n")
            exit(64)
        } catch let error as BusConnectionError where !error.isPassing {
            // 1 and not 64: while passwords are changed, the broker's may be the new one already, or still the old one.
            Console.error("\(name): could not start: \(error) (--nats-user, --nats-password)\n")
            exit(1)
        } catch {
            Console.error("\(name): \(failure.map { "\($0): " } ?? "")\((error as? ServiceError)?.message ?? "\(error)")\n")
            exit(1)
        }
    }

}

/// SIGTERM, SIGINT, and SIGHUP of a terminal that is closed, which ask a program to stop. Under `nohup` SIGHUP stays ignored.
public struct StopSignals: Sendable {
    private let signals: UnixSignalsSequence

    /// From now on these signals do not end the process, but `first` returns. To be made before the program says that it runs.
    public init() async {
        signals =
            Self.ignoresHangUp
            ? await UnixSignalsSequence(trapping: .sigterm, .sigint)
            : await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    }

    private static var ignoresHangUp: Bool {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Returns at the first signal, also at one that came since the trap was set. To be called once.
    public func first() async {
        for await _ in signals { return }
    }
}

extension AdminServer {
    /// Starts the admin port when the settings name one; returns when it is open.
    ///
    /// - Throws: `Settings.Invalid` when it cannot be listened on.
    public static func start(
        _ settings: Settings,
        metrics: Metrics,
        logger: Logger,
        isReady: @escaping @Sendable () -> Bool
    ) async throws -> Task<Void, Never>? {
        let port = try settings.get(CommonSettings.adminPort)
        guard port != 0 else { return nil }
        let server = AdminServer(
            host: try settings.get(CommonSettings.adminHost),
            port: port,
            metrics: metrics,
            logger: logger,
            isReady: isReady
        )
        let (events, event) = AsyncStream.makeStream(of: String?.self)
        let serving = Task {
            do { try await server.run { event.yield(nil) } } catch is CancellationError {} catch {
                event.yield("\(error)")
                logger.error("the admin port is not served", metadata: ["port": "\(port)", "error": "\(error)"])
            }
            event.finish()
        }
        for await problem in events {
            guard let problem else { break }
            throw Settings.Invalid.address(server.address, of: CommonSettings.adminHost, and: CommonSettings.adminPort, problem)
        }
        return serving
    }
}

extension Logger {
    /// A logger that writes JSON lines with the service's name.
    ///
    /// - Throws: `Settings.Invalid` for an unknown level.
    public init(service: String, settings: Settings) throws {
        let text = try settings.get(CommonSettings.logLevel)
        guard let level = Logger.Level(rawValue: text) else {
            throw Settings.Invalid("--log-level must be trace, debug, info, notice, warning, error or critical.")
        }
        self.init(label: service) { label in JSONLogHandler(service: label, level: level) }
    }
}
