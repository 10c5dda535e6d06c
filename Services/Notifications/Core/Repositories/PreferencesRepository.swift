package import Database
package import Kernel
package import NotificationsDomain

/// What users want pushed (NO-2).
package enum PreferencesRepository {
    /// Changes to preferences; nil: as it is.
    package struct Change: Sendable {
        package var switches: [PushSwitch: Bool]
        package var hasQuietHours: Bool?
        package var quietStart: Int32?
        package var quietEnd: Int32?

        package init(switches: [PushSwitch: Bool], hasQuietHours: Bool?, quietStart: Int32?, quietEnd: Int32?) {
            self.switches = switches
            self.hasQuietHours = hasQuietHours
            self.quietStart = quietStart
            self.quietEnd = quietEnd
        }
    }

    /// Preferences as they are stored: the hours also while there are no quiet hours.
    package struct Stored: Sendable {
        package var off = PushPreferences.offAtFirst
        package var hasQuietHours = true
        package var quietStart: Int32 = 22
        package var quietEnd: Int32 = 7

        /// Of a user who has changed nothing.
        package init() {}

        /// As rules take them.
        package var preferences: PushPreferences {
            PushPreferences(
                off: off,
                quiet: hasQuietHours ? QuietHours(start: Int(quietStart), end: Int(quietEnd)) : nil
            )
        }
    }

    static let columns: Query = """
        p.window_alerts, p.window_closing, p.streak_at_risk, p.streak_broken, p.friend_posted, p.milestone, p.friend_requests, p.nudges,
        p.enabled, p.habit_reminders, p.motivation, p.quiet_hours, p.quiet_start, p.quiet_end
        """
    static let columnCount = PushSwitch.allCases.count + 3

    /// Those of a user.
    package static func find(_ user: UserID, _ sql: some QueryExecutor) async throws -> Stored {
        try await sql.query("SELECT \(columns) FROM push_preferences p WHERE p.user_id = \(user)").first.map {
            try stored($0, from: 0)
        }
            ?? Stored()
    }

    /// Those of several users; users who have changed nothing are absent.
    package static func find(_ users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: Stored] {
        let rows = try await sql.query(
            "SELECT \(columns), p.user_id FROM push_preferences p WHERE p.user_id = ANY(\(Array(Set(users))))"
        )
        return Dictionary(
            try rows.map { (try $0.get(at: columnCount, as: UserID.self), try stored($0, from: 0)) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Locks the preferences of a user until the end of the transaction. - Returns: as they are.
    package static func lock(_ user: UserID, _ sql: Transaction) async throws -> Stored {
        _ = try await sql.execute("INSERT INTO push_preferences (user_id) VALUES (\(user)) ON CONFLICT DO NOTHING")
        let rows = try await sql.query("SELECT \(columns) FROM push_preferences p WHERE p.user_id = \(user) FOR UPDATE")
        return try rows.first.map { try stored($0, from: 0) } ?? Stored()
    }

    /// Changes what is given; locked before. - Returns: all preferences after it.
    package static func update(_ user: UserID, _ change: Change, _ sql: Transaction) async throws -> Stored {
        let wanted = PushSwitch.allCases.map { change.switches[$0] }
        let rows = try await sql.query(
            """
            UPDATE push_preferences p SET window_alerts = coalesce(\(wanted[0]), p.window_alerts),
                window_closing = coalesce(\(wanted[1]), p.window_closing), streak_at_risk = coalesce(\(wanted[2]), p.streak_at_risk),
                streak_broken = coalesce(\(wanted[3]), p.streak_broken), friend_posted = coalesce(\(wanted[4]), p.friend_posted),
                milestone = coalesce(\(wanted[5]), p.milestone), friend_requests = coalesce(\(wanted[6]), p.friend_requests),
                nudges = coalesce(\(wanted[7]), p.nudges), enabled = coalesce(\(wanted[8]), p.enabled),
                habit_reminders = coalesce(\(wanted[9]), p.habit_reminders), motivation = coalesce(\(wanted[10]), p.motivation),
                quiet_hours = coalesce(\(change.hasQuietHours), p.quiet_hours),
                quiet_start = coalesce(\(change.quietStart), p.quiet_start), quiet_end = coalesce(\(change.quietEnd), p.quiet_end)
            WHERE p.user_id = \(user) RETURNING \(columns)
            """
        )
        return try rows.first.map { try stored($0, from: 0) } ?? Stored()
    }

    /// - Parameter first: the place of the first of `columns` in the row.
    static func stored(_ row: Row, from first: Int) throws -> Stored {
        var stored = Stored()
        // In the order of the columns.
        stored.off = []
        for (index, push) in PushSwitch.allCases.enumerated() where try !row.get(at: first + index, as: Bool.self) {
            stored.off.insert(push)
        }
        let quiet = first + PushSwitch.allCases.count
        stored.hasQuietHours = try row.get(at: quiet)
        stored.quietStart = try row.get(at: quiet + 1)
        stored.quietEnd = try row.get(at: quiet + 2)
        return stored
    }
}
