import DevEnvironment
import Dispatch
import FoundationEssentials
import Glibc
import Logging
import Runtime
import Synchronization

/// Gives tests of apps, in any language, private systems with stand-ins for everything outside (`deploy/docs/test-kit.md`).
struct TestEnvironment: Sendable {
    static let command = ProgramCommand(
        "test-environment",
        about: "gives tests of apps private systems, until its standard input ends",
        settings: [keptWarm, folder, level]
    ) { _, settings in
        try await TestEnvironment(settings).run()
        return .init("")
    }

    private static let keptWarm = Setting(
        option: "worlds-kept-warm",
        default: 2,
        in: 0...16,
        help: "Worlds that are started before a test asks."
    )
    private static let folder = Setting<String>(
        option: "data",
        default: nil,
        help: "Folder for everything; a temporary one when absent."
    )
    private static let level = Setting(
        option: "log-level",
        default: "error",
        help: "How much is logged, into logs/worlds.log of the folder."
    )

    private let worldsKeptWarm: Int
    private let data: String?
    private let logger: Logger

    /// - Throws: `Settings.Invalid`.
    private init(_ settings: Settings) throws {
        worldsKeptWarm = try settings.get(Self.keptWarm)
        data = try settings.find(Self.folder)
        let text = try settings.get(Self.level)
        guard let level = Logger.Level(rawValue: text) else {
            throw Self.level.invalid("must be trace, debug, info, notice, warning, error or critical, not \(text).")
        }
        logger = Logger(label: "test-environment") { JSONLogHandler(service: $0, level: level) }
    }

    private func run() async throws {
        // Before anything is started: its end may come at any time.
        let end = try EndOfTests()
        Scheduling.preferThroughput()
        OpenFiles.allowMany()
        let folder = try TestFolder(named: data)
        var environment: DevEnvironment?
        do {
            let started = try self.environment(in: folder)
            environment = started
            let endpoints = try await started.start()
            try LogFile.begin(folder.path + "/logs/worlds.log")
            Console.out(try await serve(endpoints, folder))
        } catch {
            LogFile.end()
            await environment?.stop()
            folder.remove()
            throw ProgramCommand.Failure("could not start: \(error)")
        }
        await end.wait()
        await environment?.stop()
        folder.remove()
    }

    /// Connections to PostgreSQL beside those of the worlds: of what makes their databases, of what looks into them, of statements that are
    /// cancelled, and of worlds whose tests want larger pools.
    private static let spareConnections = 100

    private func environment(in folder: TestFolder) throws -> DevEnvironment {
        var configuration = DevEnvironmentConfiguration(
            dataFolder: folder.path,
            postgresSettings: [
                // Nothing of it need survive the machine, and nothing is copied to another.
                "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "wal_level": "minimal",
                "max_wal_senders": "0", "log_checkpoints": "off", "shared_buffers": "32MB",
                // Its memory lies in its folder and is removed with that: in /dev/shm it would outlive a server that was killed.
                "dynamic_shared_memory_type": "mmap",
                // No table of a world lives long enough to be looked after.
                "autovacuum": "off", "track_counts": "off", "bgwriter_lru_maxpages": "0", "update_process_title": "off",
                // Most statements run a few times in a world: one plan for each is enough.
                "plan_cache_mode": "force_generic_plan",
                "max_connections": "\(Worlds.most * WorldPlan.connections + Self.spareConnections)", "password_encryption": "md5",
                "hba_file": try folder.writeHostRules(),
            ]
        )
        configuration.privateAccounts = Worlds.accounts
        return DevEnvironment(configuration, logger: logger)
    }

    /// Starts the control API and the first worlds.
    ///
    /// - Returns: the line of JSON for the tests.
    private func serve(_ endpoints: Endpoints, _ folder: TestFolder) async throws -> String {
        let (registry, found) = (StandInRegistry(), FoundWorlds())
        let server = ControlServer(token: WorldPlan.makeSecret(), registry: registry)
        let port = try await server.start { found.worlds }
        let control = "http://127.0.0.1:\(port)"
        let databases = try await WorldDatabases.connect(
            endpoints.adminPostgresURL(database: "postgres"),
            copying: PostgresRoles.database,
            logger: logger
        )
        let worlds = Worlds(
            endpoints,
            databases,
            registry,
            folder: folder.path,
            control: control,
            keptWarm: worldsKeptWarm,
            logger: logger
        )
        try await worlds.prepare()
        found.set(worlds)
        await worlds.fill()
        return String(decoding: JSON.texts(["control": control, "token": server.token]).bytes, as: UTF8.self) + "\n"
    }
}

/// The worlds, once there are any.
private final class FoundWorlds: Sendable {
    private let found = Mutex<Worlds?>(nil)

    var worlds: Worlds? { found.withLock { $0 } }
    func set(_ worlds: Worlds) { found.withLock { $0 = worlds } }
}

/// When the tests are over: standard input ends, because the process at its other end has, or a signal says so.
private struct EndOfTests: Sendable {
    private let over: AsyncStream<Void>

    init() throws {
        let signals = try StopSignals()
        let (over, end) = AsyncStream.makeStream(of: Void.self)
        self.over = over
        Task {
            await signals.first()
            end.finish()
        }
        // It may block for hours, so it has a thread of its own.
        DispatchQueue(label: "standard input").async {
            var bytes = [UInt8](repeating: 0, count: 256)
            while true {
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                guard count > 0 || (count < 0 && errno == EINTR) else { break }
            }
            end.finish()
        }
    }

    func wait() async { for await _ in over {} }
}

/// The file that log lines go to instead of standard error: tests show that to people.
private enum LogFile {
    private static let terminal = Mutex<Int32>(-1)

    /// From now on.
    ///
    /// - Throws: `DevEnvironmentError` when the file cannot be written.
    static func begin(_ path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
        guard file >= 0 else {
            throw DevEnvironmentError("\(path) cannot be written.", wayOut: "Choose another folder with --data.")
        }
        terminal.withLock { $0 = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) }
        dup2(file, STDERR_FILENO)
        close(file)
    }

    /// Standard error is what it was.
    static func end() {
        terminal.withLock { descriptor in
            if descriptor >= 0 { dup2(descriptor, STDERR_FILENO) }
        }
    }
}
