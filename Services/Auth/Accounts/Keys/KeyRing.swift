internal import AuthDomain
internal import Kernel
internal import Logging
private import Synchronization
internal import Tokens
internal import WorkPool

/// The signing keys in use, kept as the folder says while the service runs (AU-3).
///
/// The schedule follows the machine's clock: files are named by it.
final class KeyRing: Sendable {
    private struct State {
        var schedule: KeySchedule
        var signer: TokenSigner
    }

    private let folder: KeyFolder
    private let logger: Logger
    private let pool: WorkPool
    private let state: Mutex<State>

    private init(folder: KeyFolder, logger: Logger, pool: WorkPool, _ state: State) {
        self.folder = folder
        self.logger = logger
        self.pool = pool
        self.state = Mutex(state)
    }

    /// Reads the folder.
    ///
    /// - Throws: `Settings.Invalid` when it cannot be used.
    static func open(_ folder: KeyFolder, logger: Logger) async throws -> KeyRing {
        let pool = WorkPool(name: "keys", threads: 1, queueLimit: 4)
        do {
            guard let state = try await read(folder, pool, known: nil) else { throw ServiceError.internal }
            return KeyRing(folder: folder, logger: logger, pool: pool, state)
        } catch let error as TokenSigner.InvalidKey { throw folder.unusable(error) }
    }

    /// Every published key, oldest first.
    var publicKeys: [TokenSigner.PublicKey] { state.withLock { $0.signer }.publicKeys }

    /// The signed token.
    func sign(_ token: AccessToken) throws -> String { try state.withLock { $0.signer }.sign(token) }

    /// Loads what has changed: a new key, one that begins to sign, one that retires. Keys that cannot be read change nothing.
    func refresh() async throws {
        do {
            guard let next = try await Self.read(folder, pool, known: state.withLock { $0.schedule }) else { return }
            state.withLock { $0 = next }
            logger.info(
                "signing keys changed",
                metadata: ["signing": "\(next.schedule.signing ?? "-")", "published": "\(next.schedule.published.count)"]
            )
        } catch let error where !(error is CancellationError) {
            logger.error("signing keys were not loaded; the known ones stay", metadata: ["error": "\(error)"])
        }
    }

    /// - Returns: nil when the schedule is the known one.
    private static func read(_ folder: KeyFolder, _ pool: WorkPool, known: KeySchedule?) async throws -> State? {
        try await pool.run { () -> State? in
            let schedule = try folder.schedule(now: SystemClock.now())
            if schedule == known { return nil }
            let signing = schedule.published.firstIndex { $0 == schedule.signing }
            return State(schedule: schedule, signer: try TokenSigner(pemKeys: folder.load(schedule), signing: signing))
        }
    }
}
