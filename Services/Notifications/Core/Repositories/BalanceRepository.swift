internal import Database
internal import Kernel
internal import NotificationsDomain
internal import ServiceRuntime

/// Recovery tokens of users, as billing has emitted them last; a user without a row has none.
enum BalanceRepository {
    static let personalData = PersonalData([PersonalTable("recovery_balance", users: ["user_id": .delete], growth: .perUser)])

    static func store(_ balance: Int32, version: Int64, of user: UserID, _ sql: Transaction) async throws -> Int {
        try await sql.execute(
            """
            INSERT INTO recovery_balance AS known (user_id, version, balance) VALUES (\(user), \(version), \(balance))
            ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version, balance = EXCLUDED.balance
            WHERE known.version < EXCLUDED.version
            """
        )
    }

    /// The wording of an entry that is about to be stored, in statements about `entry`: of a streak that broke it says whether the reader has a
    /// token. The log keeps it: an entry is what it said when it was made.
    static let newWording: Query = """
        CASE WHEN kind = \(NotificationKind.streakBroken.rawValue) AND wording = 0 AND NOT \(hasToken(of: "entry"))
        THEN \(Wording.hasNoToken) ELSE wording END
        """

    /// The wording of what is pushed, in statements about `notification`: it offers nothing that would be refused now (NO-5).
    static let pushedWording: Query = """
        CASE WHEN kind = \(NotificationKind.streakBroken.rawValue) AND wording IN (0::smallint, \(Wording.hasNoToken))
        THEN CASE WHEN \(hasToken(of: "notification")) THEN 0::smallint ELSE \(Wording.hasNoToken) END ELSE wording END
        """

    private static func hasToken(of entry: Query) -> Query {
        "EXISTS (SELECT 1 FROM recovery_balance held WHERE held.user_id = \(entry).user_id AND held.balance > 0)"
    }
}
