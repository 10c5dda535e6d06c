/// When a request that failed is sent again. A change carries an idempotency key, so a repeat of it takes effect once.
public struct RetryPolicy: Sendable, Hashable {
    /// How often a request is sent at most, the first time included.
    public var attempts: Int
    /// The longest pause before the second attempt; it doubles with each attempt.
    public var base: Duration
    /// The longest pause of all.
    public var most: Duration

    /// A policy.
    public init(attempts: Int = 5, base: Duration = .milliseconds(300), most: Duration = .seconds(20)) {
        (self.attempts, self.base, self.most) = (attempts, base, most)
    }

    /// Sends everything once.
    public static let never = RetryPolicy(attempts: 1)

    /// The pause before the next attempt; nil when there is none.
    ///
    /// Pauses are random up to a bound that doubles (full jitter), so that many clients do not come back at the same time. What the
    /// server asks for (`Retry-After`) is the least.
    ///
    /// - Parameters:
    ///   - error: why the attempt failed.
    ///   - attempt: how many attempts there were.
    ///   - random: from 0 up to 1.
    ///   - remaining: time until the deadline.
    public func pause(after error: StreakSnapError, attempt: Int, random: Double, remaining: Duration) -> Duration? {
        guard error.isTransient, attempt < attempts else { return nil }
        let bound = min(base * (1 << min(max(attempt - 1, 0), 16)), most)
        let pause = (error.retryAfter ?? .zero) + bound * random
        return pause < remaining ? pause : nil
    }
}

/// How one call is made.
public struct CallOptions: Sendable {
    /// How long the call may take with all attempts; nil for a minute, and for 10 minutes with a file.
    public var deadline: Duration?
    /// When it is sent again; nil for the client's own policy.
    public var retries: RetryPolicy?
    /// Names the change, so that a repeat takes effect once (PF-4); nil for one that the client makes. Give your own to make the same
    /// change safely again after the app has ended.
    public var idempotencyKey: String?

    /// Options.
    public init(deadline: Duration? = nil, retries: RetryPolicy? = nil, idempotencyKey: String? = nil) {
        (self.deadline, self.retries, self.idempotencyKey) = (deadline, retries, idempotencyKey)
    }

    /// What fits most calls.
    public static let standard = CallOptions()

    /// For the pages of a list: a key would make them all the first.
    var forRead: CallOptions { CallOptions(deadline: deadline, retries: retries) }
}
