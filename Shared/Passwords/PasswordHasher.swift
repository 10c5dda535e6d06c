private import Glibc
private import Kernel
private import Synchronization
private import WorkPool

/// bcrypt (`$2b$`) over libxcrypt (AU-1, AU-2), in a few child processes of low priority; below cost 7, for tests, on threads of its own.
///
/// At cost 12 one hash takes about a quarter of a second of CPU, so it must not compete with requests, what cannot start soon is
/// refused, and a client that asks for many waits behind those that ask for few (`HashRequester`).
public final class PasswordHasher: Sendable {
    /// The longest password in bytes: bcrypt ignores what is beyond, so longer ones are refused, never truncated.
    public static let longestPassword = 72
    /// Costs that are accepted: each step doubles the time (4 takes 1 ms, 12 takes 250 ms).
    public static let costs = 4...14

    /// The cost of new hashes.
    public let cost: Int
    /// Its threads wait for the processes.
    private let pool: WorkPool
    private let processes = HashProcesses(niceness: 5)
    private let turns: HashTurns
    private let longestWait: Duration
    private let pace = Mutex(Duration.zero)
    private let decoy = Mutex<String?>(nil)

    /// A hasher.
    ///
    /// - Parameters:
    ///   - cost: 4…14; values outside are taken as the nearest inside.
    ///   - threads: Hashes computed at once; by default on all processors but one, which is left to requests.
    ///   - queueLimit: Hashes that may wait; beyond it callers get `UNAVAILABLE`.
    ///   - queueLimitOfAddress: Hashes from one address that may wait; beyond it callers get `RATE_LIMITED`.
    ///   - longestWait: A caller that has waited for this long gets `UNAVAILABLE`, and so does one that would have no time left for the hash.
    public init(
        cost: Int = 12,
        threads: Int? = nil,
        queueLimit: Int = 64,
        queueLimitOfAddress: Int = 4,
        longestWait: Duration = .seconds(3)
    ) {
        self.cost = min(max(cost, Self.costs.lowerBound), Self.costs.upperBound)
        let threads = max(1, threads ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)) - 1)
        self.longestWait = longestWait
        self.turns = HashTurns(atOnce: threads, limit: queueLimit, limitOfAddress: queueLimitOfAddress)
        // A request that has a turn never waits here: the room beyond the threads is for the moment in which one ends.
        self.pool = WorkPool(name: "passwords", threads: threads, queueLimit: threads, refusal: HashTurns.busy)
    }

    /// A new salted hash, `$2b$12$…`, 60 characters.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field` for a password above 72 bytes or with a NUL byte; `UNAVAILABLE` when too many
    ///   hashes are waiting, `RATE_LIMITED` when too many of this address are; `CancellationError`.
    public func hash(_ typed: String, field: String = "password", for requester: HashRequester) async throws -> String {
        let password = PasswordText.prepared(typed)
        guard password.utf8.count <= Self.longestPassword else {
            throw ServiceError.validation(field: field, "must be at most \(Self.longestPassword) bytes long")
        }
        guard !password.utf8.contains(0) else { throw ServiceError.validation(field: field, "must not contain a NUL character") }
        return try await paced(requester) { [self] in try Bcrypt.hash(password, cost: cost, by: processes) }
    }

    /// Whether `password` is the one `hash` was made from.
    ///
    /// A nil hash (an unknown user), a password that `hash(_:)` would refuse and a hash that is not bcrypt all answer false after
    /// as much work as a wrong password takes, so that the time says nothing.
    ///
    /// - Throws: `UNAVAILABLE` when too many hashes are waiting, `RATE_LIMITED` when too many of this address are; `CancellationError`.
    public func verify(_ password: String, against hash: String?, for requester: HashRequester) async throws -> Bool {
        // A hash that is older than the one form of a password was made of what was typed.
        let prepared = PasswordText.prepared(password)
        let forms = prepared.utf8.elementsEqual(password.utf8) ? [password] : [prepared, password]
        let stored = hash.flatMap { Bcrypt.cost(of: $0) == nil ? nil : $0 }
        return try await paced(requester) { [self] in
            let reference = try stored ?? decoyHash()
            for form in forms {
                let isAcceptable = form.utf8.count <= Self.longestPassword && !form.utf8.contains(0)
                let isRight = try Bcrypt.verify(isAcceptable ? form : "", against: reference, by: processes)
                if isRight && isAcceptable && stored != nil { return true }
            }
            return false
        }
    }

    /// Whether a hash is of a lower cost than new ones: a caller that has its password at hand should hash it anew.
    public func isWeak(_ hash: String) -> Bool { Bcrypt.cost(of: hash).map { $0 < cost } ?? false }

    /// Ids of the child processes that wait for work; for tests.
    package var processIDs: [Int32] { processes.idleProcessIDs }

    /// How many wait for their turn; for tests.
    package var waiting: Int { turns.waiting }

    /// Runs `work` on the pool when the requester's turn comes, if that is soon enough for an answer.
    private func paced<Value: Sendable>(
        _ requester: HashRequester,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        var wait = longestWait
        if let deadline = requester.deadline {
            let left = Duration.microseconds((deadline - SystemClock.now()).microseconds)
            // While none is computed a hash may try: the pace may be that of a stall that is over, and only a new hash says so.
            wait = min(wait, turns.isIdle ? left : left - pace.withLock { $0 })
        }
        guard wait > .zero else { throw HashTurns.busy }
        return try await turns.run(for: requester, waitingAtMost: wait) { [self] in
            try await pool.run { [self] in
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
    }

    /// What the passwords of unknown users are compared with. Making it takes as long as comparing, so it is made once.
    private func decoyHash() throws -> String {
        if let known = decoy.withLock({ $0 }) { return known }
        let made = try Bcrypt.hash("no user's password", cost: cost, by: processes)
        return decoy.withLock { known in
            known = known ?? made
            return known ?? made
        }
    }
}
