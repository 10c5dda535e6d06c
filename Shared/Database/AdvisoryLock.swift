/// A lock of a transaction by two numbers (PostgreSQL 15 manual, 13.3.5), or none. A transaction that has it may take it again.
public struct AdvisoryLock: Sendable {
    /// nil for none.
    public let high: Int32?
    /// nil for none.
    public let low: Int32?

    /// The lock with these numbers.
    public init(_ high: Int32, _ low: Int32) { (self.high, self.low) = (high, low) }

    private init() { (high, low) = (nil, nil) }

    /// What a transaction always has.
    public static let none = AdvisoryLock()

    /// A condition: whether the transaction has it, or gets it without waiting.
    public var isHeld: Query {
        guard let high, let low else { return "true" }
        return "pg_try_advisory_xact_lock(\(high), \(low))"
    }

    /// The same where the numbers are the columns `high` and `low` of the rows that a statement is given.
    public static let isHeldInRow: Query = "coalesce(pg_try_advisory_xact_lock(high, low), true)"
}
