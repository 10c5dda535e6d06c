public import Kernel

/// How many logins may fail (AU-12): a sliding window of failures of one account, or of one client address.
public struct LoginLimit: Hashable, Sendable {
    /// The length of the window.
    public static let window = Interval.minutes(15)
    /// For one account, from all addresses at which it was not signed in lately; and from each at which it was.
    public static let account = LoginLimit(failures: 10)
    /// How many addresses of an account count as known: those of its latest sessions.
    public static let knownClients = 10
    /// For how long an address is known.
    public static let clientsAreKnownFor = Interval.days(30)
    /// For one address, whatever it tries.
    public static let address = LoginLimit(failures: 50)

    /// Failures that are answered as such within the window; what follows is refused.
    public let failures: Int

    /// A limit.
    public init(failures: Int) { self.failures = failures }

    /// What to answer, and what to remember.
    public enum Decision: Hashable, Sendable {
        /// Below the limit.
        case allowed
        /// At the limit: refuse whatever the password is, and say when it makes sense to try again, in whole seconds.
        case refused(retryAfter: Int)
    }

    /// Whether a login may be tried, or its outcome answered, at `now`.
    ///
    /// - Parameter failed: earlier failures, in any order.
    public func decide(_ failed: [Instant], now: Instant) -> Decision {
        sliding.wait(after: failed, now: now).map { .refused(retryAfter: $0) } ?? .allowed
    }

    /// The failures to remember after one more at `now`; those that left the window are dropped.
    public func adding(to failed: [Instant], now: Instant) -> [Instant] { sliding.adding(to: failed, now: now) }

    private var sliding: SlidingWindow { SlidingWindow(failures, within: Self.window) }
}
