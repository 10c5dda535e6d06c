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

    /// The wording of an entry, in statements about `notification`. Whether the reader has a token is looked up whenever a text is made, not when
    /// the streak broke: so it does not matter which event comes first, and who has got a token meanwhile is not offered one.
    static let wording: Query = """
        CASE WHEN kind = \(NotificationKind.streakBroken.rawValue) AND wording = 0 AND NOT EXISTS
            (SELECT 1 FROM recovery_balance held WHERE held.user_id = notification.user_id AND held.balance > 0)
        THEN \(Wording.hasNoToken) ELSE wording END
        """
}
