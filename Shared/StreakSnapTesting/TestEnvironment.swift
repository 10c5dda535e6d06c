public import Foundation
import StreakSnapClient

/// A running `streaksnap test-environment`: it makes worlds, each a private system for one test.
///
/// Most tests need only the `.world` trait, which uses ``shared``.
public struct TestEnvironment: Sendable {
    /// The one that all tests of this process share. It is started when the first test asks for it, and ends with the process, also after
    /// `kill -9`.
    ///
    /// With `STREAKSNAP_TEST_CONTROL` and `STREAKSNAP_TEST_TOKEN` in the environment it is not started: these are address and token of one
    /// that runs already, as for tests in an iOS simulator, which cannot start programs.
    ///
    /// - Throws: ``TestKitError`` `NOT_STARTED`, the same for every caller.
    public static var shared: TestEnvironment { get async throws { try await sharedTask.value } }

    private static let sharedTask = Task { () async throws -> TestEnvironment in
        let variables = ProcessInfo.processInfo.environment
        guard let control = variables["STREAKSNAP_TEST_CONTROL"] else { return try await start() }
        guard let address = URL(string: control), let token = variables["STREAKSNAP_TEST_TOKEN"] else {
            throw TestKitError("NOT_STARTED", "STREAKSNAP_TEST_CONTROL must be an address, and STREAKSNAP_TEST_TOKEN set")
        }
        return connect(to: address, token: token)
    }

    let control: ControlClient
    private let slots: Slots
    // Keeps the program running.
    private let process: (any AnyObject & Sendable)?

    private init(_ address: URL, _ token: String, _ process: (any AnyObject & Sendable)?, _ worldsAtOnce: Int) {
        control = ControlClient(address: address, token: token, transport: Self.transport())
        (self.process, slots) = (process, Slots(max(1, worldsAtOnce)))
    }

    /// How many worlds run at once by default: what the processors bear.
    public static var usualWorldsAtOnce: Int { max(2, min(24, ProcessInfo.processInfo.activeProcessorCount * 2)) }

    /// Uses one that runs already.
    ///
    /// - Parameters:
    ///   - address: `control` of the line that it wrote when it was ready.
    ///   - token: of the same line.
    ///   - worldsAtOnce: how many tests may have a world at the same time; others wait.
    public static func connect(to address: URL, token: String, worldsAtOnce: Int = usualWorldsAtOnce) -> TestEnvironment {
        TestEnvironment(address, token, nil, worldsAtOnce)
    }

    #if os(Linux) || os(macOS)
        /// Starts one.
        ///
        /// - Parameters:
        ///   - program: the executable `streaksnap`; nil to look for it in the folder `STREAKSNAP_BIN`, then on `PATH`.
        ///   - folder: where its servers keep their data, so that the next start is faster; nil for `STREAKSNAP_TEST_DATA`, and without
        ///     that for a new folder. Two that run at once need two.
        ///   - worldsKeptWarm: worlds that are started before a test asks for them, 0 to 16.
        ///   - worldsAtOnce: how many tests may have a world at the same time; others wait.
        ///   - limit: how long the start may take.
        /// - Throws: ``TestKitError`` `NOT_STARTED`.
        public static func start(
            program: URL? = nil,
            dataFolder folder: URL? = nil,
            worldsKeptWarm: Int = 2,
            worldsAtOnce: Int = usualWorldsAtOnce,
            within limit: Duration = .seconds(120)
        ) async throws -> TestEnvironment {
            var arguments = ["--worlds-kept-warm", String(worldsKeptWarm)]
            if let path = folder?.path ?? ProcessInfo.processInfo.environment["STREAKSNAP_TEST_DATA"] {
                arguments += ["--data", path]
            }
            let process = try await EnvironmentProcess.start(try program ?? find(), arguments, within: limit)
            return TestEnvironment(process.address, process.token, process, worldsAtOnce)
        }

        private static func find() throws -> URL {
            let variables = ProcessInfo.processInfo.environment
            let folders =
                variables["STREAKSNAP_BIN"].map { [$0] } ?? (variables["PATH"] ?? "").split(separator: ":").map(String.init)
            for folder in folders {
                let file = URL(fileURLWithPath: folder).appending(path: "streaksnap")
                if FileManager.default.isExecutableFile(atPath: file.path) { return file }
            }
            let place =
                variables["STREAKSNAP_BIN"].map { "in the folder STREAKSNAP_BIN (\($0))" } ?? "on PATH; set STREAKSNAP_BIN"
            throw TestKitError("NOT_STARTED", "there is no streaksnap \(place)")
        }

        /// Ends the program, if this value has started it, and with it all its worlds.
        public func end() { (process as? EnvironmentProcess)?.end() }
    #else
        private static func start() async throws -> TestEnvironment {
            throw TestKitError(
                "NOT_STARTED",
                "programs cannot be started here; start streaksnap test-environment and set STREAKSNAP_TEST_CONTROL and _TOKEN"
            )
        }
    #endif

    /// Makes a world. The caller ends it; see ``withWorld(clock:settings:_:)``.
    ///
    /// - Parameters:
    ///   - clock: what its clock shows at first, such as `2030-03-04T08:00:00Z`; nil for the present. It only goes forward (PF-7).
    ///   - settings: of the services by key, `["streaks.snap-window": "enforce"]`. Such a world takes about a second.
    /// - Throws: ``TestKitError``.
    public func world(clock: String? = nil, settings: [String: String] = [:]) async throws -> TestWorld {
        var body: [String: JSONValue] = [:]
        if let clock { body["clock"] = .text(clock) }
        if !settings.isEmpty { body["settings"] = .object(settings.mapValues { .text($0) }) }
        return try TestWorld(try await control.call("POST", "/worlds", body: body), control, Self.transport())
    }

    /// Makes a world, runs a test with it as ``TestWorld/current``, and ends it. Waits while too many worlds run.
    ///
    /// - Throws: ``TestKitError``, what `body` throws.
    public func withWorld(
        clock: String? = nil,
        settings: [String: String] = [:],
        _ body: @Sendable (TestWorld) async throws -> Void
    ) async throws {
        await slots.enter()
        do {
            let world = try await world(clock: clock, settings: settings)
            do {
                try await TestWorld.$bound.withValue(world) { try await body(world) }
            } catch {
                // The test's own failure is what counts.
                try? await world.end()
                throw error
            }
            try await world.end()
        } catch {
            await slots.leave()
            throw error
        }
        await slots.leave()
    }

    private static func transport() -> any Transport {
        #if os(Linux)
            return SocketTransport()
        #else
            // Neither cookies nor a cache: worlds follow each other, and a port may come again.
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            configuration.httpMaximumConnectionsPerHost = 64
            configuration.timeoutIntervalForResource = 3_600
            return URLSessionTransport(configuration: configuration)
        #endif
    }
}

/// Lets so many in at once, in the order in which they came.
private actor Slots {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
