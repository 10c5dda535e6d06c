private import Glibc
private import Kernel
private import Synchronization
private import WorkPool

/// bcrypt (`$2b$`) over libxcrypt (AU-1, AU-2), in a few child processes of low priority.
///
/// At cost 12 one hash takes about a quarter of a second of CPU, so it must not compete with requests, and what cannot be
/// taken on soon is refused with `UNAVAILABLE`.
public final class PasswordHasher: Sendable {
    /// The longest password in bytes: bcrypt ignores what is beyond, so longer ones are refused, never truncated.
    public static let longestPassword = 72
    /// Costs that are accepted: each step doubles the time (4 takes 1 ms, 12 takes 250 ms).
    public static let costs = 4...14

    /// The cost of new hashes.
    public let cost: Int
    /// Its threads wait for the processes; they compute nothing.
    private let pool: WorkPool
    private let processes = HashProcesses(niceness: 5)
    private let threads: Int
    private let longestWait: Duration
    private let pace = Mutex(Duration.zero)
    private let decoy = Mutex<String?>(nil)

    /// A hasher.
    ///
    /// - Parameters:
    ///   - cost: 4…14; values outside are taken as the nearest inside.
    ///   - threads: Hashes computed at once; by default on all processors but one, which is left to requests.
    ///   - queueLimit: Hashes that may wait; beyond it callers get `UNAVAILABLE`.
    ///   - longestWait: Whoever would wait longer than this, by the pace of the last hashes, gets `UNAVAILABLE` at once.
    public init(cost: Int = 12, threads: Int? = nil, queueLimit: Int = 32, longestWait: Duration = .seconds(6)) {
        self.cost = min(max(cost, Self.costs.lowerBound), Self.costs.upperBound)
        self.threads = threads ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) - 1)
        self.longestWait = longestWait
        self.pool = WorkPool(name: "passwords", threads: self.threads, queueLimit: queueLimit, refusal: Self.busy)
    }

    /// A new salted hash, `$2b$12$…`, 60 characters.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field` for a password above 72 bytes or with a NUL byte; `UNAVAILABLE` when too many
    ///   hashes are waiting; `CancellationError`.
    public func hash(_ password: String, field: String = "password") async throws -> String {
        guard password.utf8.count <= Self.longestPassword else {
            throw ServiceError.validation(field: field, "must be at most \(Self.longestPassword) bytes long")
        }
        guard !password.utf8.contains(0) else { throw ServiceError.validation(field: field, "must not contain a NUL character") }
        return try await paced { [self] in try Bcrypt.hash(password, cost: cost, by: processes) }
    }

    /// Whether `password` is the one `hash` was made from.
    ///
    /// A nil hash (an unknown user), a password that `hash(_:)` would refuse and a hash that is not bcrypt all answer false after
    /// as much work as a wrong password takes, so that the time says nothing.
    ///
    /// - Throws: `UNAVAILABLE` when too many hashes are waiting; `CancellationError`.
    public func verify(_ password: String, against hash: String?) async throws -> Bool {
        let isAcceptable = password.utf8.count <= Self.longestPassword && !password.utf8.contains(0)
        let candidate = isAcceptable ? password : ""
        let stored = hash.flatMap { Bcrypt.cost(of: $0) == nil ? nil : $0 }
        return try await paced { [self] in
            let reference = try stored ?? decoyHash()
            let isRight = try Bcrypt.verify(candidate, against: reference, by: processes)
            return isRight && isAcceptable && stored != nil
        }
    }

    /// Ids of the child processes that wait for work; for tests.
    package var processIDs: [Int32] { processes.idleProcessIDs }

    /// Whether `hash` was made at another cost than new ones are, so that it should be replaced at the next sign-in.
    public func needsRehash(_ hash: String) -> Bool { Bcrypt.cost(of: hash) != cost }

    private static let busy = ServiceError.unavailable("Too many sign-ins at the moment. Try again in a moment.")

    /// Runs on the pool what would begin in time. On a busy machine the processes, which give way, are slow: then the queue is short.
    private func paced<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        guard pace.withLock({ $0 }) * (pool.load / threads) <= longestWait else { throw Self.busy }
        return try await pool.run { [self] in
            let clock = ContinuousClock()
            let start = clock.now
            defer {
                let taken = start.duration(to: clock.now)
                // The mean of about the last four.
                pace.withLock { $0 = $0 == .zero ? taken : ($0 * 3 + taken) / 4 }
            }
            return try work()
        }
    }

    /// What the passwords of unknown users are compared with. Making it takes as long as comparing, so it is made once.
    private func decoyHash() throws -> String {
        if let known = decoy.withLock({ $0 }) { return known }
        let made = try Bcrypt.hash("nobody's password", cost: cost, by: processes)
        return decoy.withLock { known in
            known = known ?? made
            return known ?? made
        }
    }
}
