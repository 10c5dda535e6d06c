private import Glibc
private import Kernel
private import Synchronization
private import WorkPool

/// bcrypt (`$2b$`) over libxcrypt (AU-1, AU-2), on a small pool of threads of its own.
///
/// At cost 12 one hash takes about a quarter of a second of CPU, so it must not run where requests run, and what cannot be
/// taken on soon is refused with `UNAVAILABLE`.
public final class PasswordHasher: Sendable {
    /// The longest password in bytes: bcrypt ignores what is beyond, so longer ones are refused, never truncated.
    public static let longestPassword = 72
    /// Costs that are accepted: each step doubles the time (4 takes 1 ms, 12 takes 250 ms).
    public static let costs = 4...14

    /// The cost of new hashes.
    public let cost: Int
    private let pool: WorkPool
    private let decoy = Mutex<String?>(nil)

    /// A hasher.
    ///
    /// - Parameters:
    ///   - cost: 4…14; values outside are taken as the nearest inside.
    ///   - threads: Hashes computed at once; by default on all processors but one, which is left to requests.
    ///   - queueLimit: Hashes that may wait; beyond it callers get `UNAVAILABLE`.
    public init(cost: Int = 12, threads: Int? = nil, queueLimit: Int = 32) {
        self.cost = min(max(cost, Self.costs.lowerBound), Self.costs.upperBound)
        self.pool = WorkPool(
            name: "passwords",
            threads: threads ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) - 1),
            queueLimit: queueLimit,
            niceness: 10,
            refusal: .unavailable("Too many sign-ins at the moment. Try again in a moment.")
        )
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
        let cost = self.cost
        return try await pool.run { try Bcrypt.hash(password, cost: cost) }
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
        return try await pool.run { [self] in
            let reference = try stored ?? decoyHash()
            let isRight = try Bcrypt.verify(candidate, against: reference)
            return isRight && isAcceptable && stored != nil
        }
    }

    /// Whether `hash` was made at another cost than new ones are, so that it should be replaced at the next sign-in.
    public func needsRehash(_ hash: String) -> Bool { Bcrypt.cost(of: hash) != cost }

    /// What the passwords of unknown users are compared with. Making it takes as long as comparing, so it is made once.
    private func decoyHash() throws -> String {
        if let known = decoy.withLock({ $0 }) { return known }
        let made = try Bcrypt.hash("nobody's password", cost: cost)
        return decoy.withLock { known in
            known = known ?? made
            return known ?? made
        }
    }
}
