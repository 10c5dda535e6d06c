public import Database
public import Kernel
public import Runtime

/// Why the rows that one user has in a table stay few (D22).
public enum Growth: Sendable {
    /// A rule of the product or the time that rows are kept bounds them: which.
    case bounded(_ by: String)
    /// The service counts them.
    case quota(Quota)

    /// One row for each user.
    public static let perUser = Growth.bounded("one for each user")
    /// One row for each date of a user, none of which lies far in the past or the future.
    public static let perDate = Growth.bounded("one for each date")
}

extension PersonalTable {
    /// How many of its rows one user may have, where a quota says it.
    var quota: Quota? { if case .quota(let quota) = growth { quota } else { nil } }
}

/// How many rows of a table one user may have. Real users never meet it: it keeps one account from filling the disk (D22).
public struct Quota: Sendable {
    /// The most bytes that the rows of one user may have in a table, without its indexes. `PersonalData.problems` finds quotas above it.
    public static let mostBytes = 1 << 30

    /// The table, in the schema of the service.
    public let table: String
    /// The column of the user whose rows are counted. An index begins with it.
    public let user: String
    /// The most rows of one user.
    public let rows: Int
    /// The most bytes of one row: its columns and its longest texts, as the limits of the requests allow them.
    public let rowBytes: Int
    fileprivate let what: String
    fileprivate let remedy: String

    /// Declares a quota.
    ///
    /// - Parameters:
    ///   - what: what the rows are, in the plural, for the refusal: `posts`.
    ///   - remedy: a sentence that says what to delete.
    public init(
        _ table: String,
        of user: String = "user_id",
        rows: Int,
        rowBytes: Int,
        what: String,
        remedy: String
    ) {
        (self.table, self.user, self.rows, self.rowBytes, self.what, self.remedy) = (table, user, rows, rowBytes, what, remedy)
    }
}

/// Holds one replica's users to the quotas.
///
/// Counting all rows of a user at each new one would be slow, so a count is good for a while: of what was left then, an eighth may be added without
/// another. Two replicas at once, or a transaction that is rolled back, let a user exceed a quota by as much; close to it, that is little.
public final class Quotas: Sendable {
    private struct Key: Hashable {
        let table: String
        let user: UserID
    }

    private let others: [String: Int]
    private let left = RecentlyUsed<Key, Int>(capacity: 100_000)

    /// - Parameter others: other limits than the declared ones, by table.
    public init(_ others: [String: Int] = [:]) { self.others = others }

    /// With the limits that the operator has set.
    ///
    /// - Parameter tables: those of the service that have a quota.
    /// - Throws: `Settings.Invalid` for an entry that is not `table=rows`, or names another table.
    public convenience init(_ settings: Settings, of tables: Set<String>) throws {
        let limits = try QuotaLimits(try settings.get(ServiceSettings.quotas))
        try limits.check(tables)
        self.init(limits.rows)
    }

    /// The limit in force.
    public func limit(of quota: Quota) -> Int { others[quota.table] ?? quota.rows }

    /// How many of the rows that a user wants to add have room.
    ///
    /// - Parameters:
    ///   - isKept: whether the count is good for a while. Not in a transaction that deletes many of the user's rows: it may be rolled back.
    /// - Returns: 0…`wanted`.
    public func room(
        for wanted: Int,
        in quota: Quota,
        of user: UserID,
        isKept: Bool = true,
        _ sql: some QueryExecutor
    ) async throws -> Int {
        guard wanted > 0 else { return 0 }
        let key = Key(table: quota.table, user: user)
        if isKept, let known = left[key], known >= wanted {
            left[key] = known - wanted
            return wanted
        }
        let free = limit(of: quota) - (try await count(quota, of: user, sql))
        if isKept { left[key] = max(0, free - wanted) / 8 }
        return min(wanted, max(0, free))
    }

    /// Refuses what has no room, with nothing stored.
    ///
    /// - Throws: `QUOTA_EXCEEDED`, naming what is full, the limit and what to delete.
    public func require(
        _ wanted: Int = 1,
        in quota: Quota,
        of user: UserID,
        isKept: Bool = true,
        _ sql: some QueryExecutor
    ) async throws {
        guard try await room(for: wanted, in: quota, of: user, isKept: isKept, sql) == wanted else { throw refusal(quota) }
    }

    /// `QUOTA_EXCEEDED`, for who has asked for `room`.
    public func refusal(_ quota: Quota) -> ServiceError {
        .quotaExceeded(quota.what, most: limit(of: quota), remedy: quota.remedy)
    }

    /// `QUOTA_EXCEEDED` for rows that come at once and are taken all or none, for who has asked for `room`.
    ///
    /// - Parameters:
    ///   - added: how many come.
    ///   - room: how many would fit.
    ///   - remedy: a sentence that says what to delete, where it is not what the quota says.
    public func refusal(_ quota: Quota, adding added: Int, room: Int, remedy: String? = nil) -> ServiceError {
        .quotaExceeded(quota.what, adding: added, room: room, most: limit(of: quota), remedy: remedy ?? quota.remedy)
    }

    /// The rows of a user, counted in an index as far as the limit.
    private func count(_ quota: Quota, of user: UserID, _ sql: some QueryExecutor) async throws -> Int {
        let rows = try await sql.query(
            """
            SELECT count(*) FROM (SELECT FROM \(identifier: quota.table) WHERE \(identifier: quota.user) = \(user)
                LIMIT \(limit(of: quota))) AS counted
            """
        )
        return try rows.first?.get(at: 0) ?? 0
    }
}
