internal import Bus
private import Glibc
internal import Kernel
public import Logging

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

/// The body of an executable.
public enum ProgramMain {
    /// Runs one process until SIGTERM or SIGINT, then stops it; or does the command that the arguments name. Exits 0 after a clean stop, 64
    /// for unusable settings, 1 when it could not start.
    public static func run<P: Program>(_: P.Type) async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let command = P.commands.first(where: { $0.name == arguments.first }) {
            return await run(command, Array(arguments.dropFirst()), as: "\(P.name) \(command.name)")
        }
        if arguments.contains("--help") {
            let commands = P.commands.isEmpty ? "" : "\nCommands:\n\n" + P.commands.map(\.help).joined()
            return Console.out(Settings.help(program: P.name, about: P.about, declared: P.settings) + commands)
        }
        if arguments.contains("--version") { return Console.out(P.version + "\n") }
        await exiting(P.name, failure: "could not start") {
            let settings = try Settings(arguments: arguments, environment: Console.environment(), declared: P.settings)
            try await serve(P.self, settings)
        }
    }

    /// Does the command that the first argument names, of a program that can do nothing else. Exits 0 after a success, 64 for what it does
    /// not understand, 1 for a failure, else as the command says.
    public static func run(_ name: String, about: String, version: String, commands: [ProgramCommand]) async {
        var arguments = Array(CommandLine.arguments.dropFirst())
        // `help up` is `up --help`.
        if arguments.first == "help" { arguments = arguments.dropFirst().prefix(1) + ["--help"] }
        if let command = commands.first(where: { $0.name == arguments.first }) {
            return await run(command, Array(arguments.dropFirst()), as: "\(name) \(command.name)")
        }
        switch arguments.first {
        case nil, "--help", "-h":
            let lines = "\(name): \(about)\n\nCommands; \(name) COMMAND --help lists the options of one:\n\n"
            Console.out(lines + commands.map(\.help).joined())
        case "--version": Console.out(version + "\n")
        case let word?:
            Console.error("\(name): There is no command “\(word)”; \(name) --help lists the commands.\n")
            exit(64)
        }
    }

    /// Does the only thing that a program can do; its arguments follow the program's name at once.
    public static func run(_ command: ProgramCommand) async {
        await run(command, Array(CommandLine.arguments.dropFirst()), as: command.name)
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
        try await StopSignals().first()
        await program.stop()
        admin?.cancel()
    }

    private static func run(_ command: ProgramCommand, _ arguments: [String], as title: String) async {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.out(command.helpPage(title)) }
        await exiting(title, failure: nil, usage: command.usage(title)) {
            let given = try GivenArguments(arguments, declared: command.settings, takesWords: true)
            let settings = try Settings(given, environment: Console.environment(), declared: command.settings)
            try command.check(given.words)
            let outcome = try await command.run(given.words, settings)
            Console.out(outcome.output)
            if outcome.exitCode != 0 { exit(outcome.exitCode) }
        }
    }

    /// Says on standard error what went wrong, and ends the process.
    private static func exiting(
        _ name: String,
        failure: String?,
        usage: String? = nil,
        _ body: () async throws -> Void
    ) async {
        do { try await body() } catch let error as Settings.Invalid {
            Console.error("\(name): \(error)\n\(usage.map { "Usage: \($0); --help says more.\n" } ?? "")")
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
