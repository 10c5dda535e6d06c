public import Database
public import Kernel
public import Runtime

/// Why the rows that one user has in a table stay few (D22).
public enum Growth: Sendable {
    /// A rule of the product or the time that rows are kept bounds them: which.
    case bounded(_ by: String)
    /// The service counts them, and perhaps what they take elsewhere.
    case quotas([Quota])

    /// The service counts them.
    public static func quota(_ quota: Quota) -> Growth { .quotas([quota]) }
    /// One row for each user.
    public static let perUser = Growth.bounded("one for each user")
    /// One row for each date of a user, none of which lies far in the past or the future.
    public static let perDate = Growth.bounded("one for each date")
}

extension PersonalTable {
    /// How much one user may have in it, where quotas say it.
    var quotas: [Quota] { if case .quotas(let quotas) = growth { quotas } else { [] } }
}

/// How many rows of a table one user may have, or how many megabytes of files. Real users never meet it: it keeps one account from filling the
/// disk (D22).
public struct Quota: Sendable {
    /// The most bytes that the rows of one user may have in a table, without its indexes. `PersonalData.problems` finds quotas above it.
    public static let mostBytes = 1 << 30

    /// What is counted.
    enum Measure: Sendable {
        /// Rows; of one at most so many bytes: its columns and its longest texts, as the limits of the requests allow them.
        case rows(bytes: Int)
        /// Megabytes (10^6 bytes): the sum of a column of bytes.
        case megabytes(column: String)
    }

    /// The table, in the schema of the service.
    public let table: String
    /// The column of the user whose rows are counted. An index begins with it.
    public let user: String
    /// The most rows or megabytes of one user.
    public let most: Int
    let measure: Measure
    fileprivate let what: String
    /// A sentence that says what to delete.
    public let remedy: String

    /// As the setting `quotas` has it: the table, of megabytes with the column.
    public var name: String {
        switch measure {
        case .rows: table
        case .megabytes(let column): "\(table).\(column)"
        }
    }

    /// Declares how many rows one user may have.
    ///
    /// - Parameters:
    ///   - rowBytes: of one row, at most.
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
        (self.table, self.user, most, measure, self.what, self.remedy) = (table, user, rows, .rows(bytes: rowBytes), what, remedy)
    }

    /// Declares how much the files of one user may take, which a table of their rows says.
    ///
    /// - Parameters:
    ///   - column: the bytes of a row's files.
    ///   - what: what they are, for the refusal: `MB of photos`.
    ///   - remedy: a sentence that says what to delete.
    public init(
        _ table: String,
        of user: String = "user_id",
        megabytes: Int,
        in column: String,
        what: String,
        remedy: String
    ) {
        (self.table, self.user, most, measure) = (table, user, megabytes, .megabytes(column: column))
        (self.what, self.remedy) = (what, remedy)
    }

    /// Counts what a user has; of rows no more than the limit.
    fileprivate func counting(of user: UserID, upTo limit: Int) -> Query {
        let rows: Query = "FROM \(identifier: table) WHERE \(identifier: self.user) = \(user)"
        switch measure {
        case .rows: return "SELECT count(*) FROM (SELECT \(rows) LIMIT \(limit)) AS counted"
        case .megabytes(let column): return "SELECT coalesce(sum(\(identifier: column)), 0)::bigint / 1000000 \(rows)"
        }
    }
}

/// Holds one replica's users to the quotas.
///
/// Counting all rows of a user at each new one would be slow, so a count is good for a while: of what was left then, an eighth may be added without
/// another. Two replicas at once, or a transaction that is rolled back, let a user exceed a quota by as much; close to it, that is little.
public final class Quotas: Sendable {
    private struct Key: Hashable {
        let quota: String
        let user: UserID
    }

    private let others: [String: Int]
    private let left = RecentlyUsed<Key, Int>(capacity: 100_000)

    /// - Parameter others: other limits than the declared ones, by `Quota.name`.
    public init(_ others: [String: Int] = [:]) { self.others = others }

    /// With the limits that the operator has set.
    ///
    /// - Parameter names: of the quotas of the service.
    /// - Throws: `Settings.Invalid` for an entry that is not `name=number`, or names another quota.
    public convenience init(_ settings: Settings, of names: Set<String>) throws {
        let limits = try QuotaLimits(try settings.get(ServiceSettings.quotas))
        try limits.check(names)
        self.init(limits.most)
    }

    /// The limit in force.
    public func limit(of quota: Quota) -> Int { others[quota.name] ?? quota.most }

    /// How many of the rows, or megabytes, that a user wants to add have room.
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
        let key = Key(quota: quota.name, user: user)
        if isKept, let known = left[key], known >= wanted {
            left[key] = known - wanted
            return wanted
        }
        let rows = try await sql.query(quota.counting(of: user, upTo: limit(of: quota)))
        let free = limit(of: quota) - (try rows.first?.get(at: 0) ?? 0)
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
}
