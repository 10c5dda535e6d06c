package import Database
package import Kernel

/// A device that gets a user's pushes.
package enum DeviceTag {}
/// The id of a device under one owner.
package typealias DeviceID = ID<DeviceTag>

/// A device as it is registered.
package struct Device: Sendable {
    package let id: DeviceID
    package let token: String
    package let user: UserID
    package let session: SessionID?
    package let platform: Int32
    package let appVersion: String
    package let locale: String

    package init(
        id: DeviceID,
        token: String,
        user: UserID,
        session: SessionID?,
        platform: Int32,
        appVersion: String,
        locale: String
    ) {
        self.id = id
        self.token = token
        self.user = user
        self.session = session
        self.platform = platform
        self.appVersion = appVersion
        self.locale = locale
    }
}

/// Where a push to a device goes, and how.
package struct DeviceAddress: Sendable {
    package let token: String
    package let user: UserID
    package let locale: String
    /// How often in a row the provider said that it gets too many.
    package let slowed: Int
    package let pausedUntil: Instant?
}

/// Devices, one row a token (NO-3).
package enum DeviceRepository {
    /// Most devices of a user.
    package static let most = 20

    /// Registers a device, or changes what is known of it. A token of another user moves, under a new id. A device that registers again is
    /// no longer held back.
    ///
    /// - Parameter device: with an id for the case that it is new.
    package static func register(_ device: Device, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO device AS known (id, token, user_id, session_id, platform, app_version, locale, registered_at)
            VALUES (\(device.id), \(device.token), \(device.user), \(device.session), \(device.platform), \(device.appVersion),
                \(device.locale), \(now))
            ON CONFLICT (token) DO UPDATE SET
                id = CASE WHEN known.user_id = EXCLUDED.user_id THEN known.id ELSE EXCLUDED.id END,
                user_id = EXCLUDED.user_id, session_id = EXCLUDED.session_id, platform = EXCLUDED.platform,
                app_version = EXCLUDED.app_version, locale = EXCLUDED.locale, registered_at = EXCLUDED.registered_at,
                slowed = 0, paused_until = NULL
            """
        )
    }

    /// Removes all but the newest devices of a user. - Returns: how many are left.
    package static func trim(of user: UserID, _ sql: Transaction) async throws -> Int32 {
        _ = try await sql.execute(
            """
            DELETE FROM device WHERE id IN
                (SELECT id FROM device WHERE user_id = \(user) ORDER BY registered_at DESC, id DESC OFFSET \(most))
            """
        )
        return try await sql.query("SELECT count(*)::int FROM device WHERE user_id = \(user)").first?.decode(as: Int32.self) ?? 0
    }

    /// Removes a user's device by its token. - Returns: how many there were.
    package static func remove(token: String, of user: UserID, _ sql: Transaction) async throws -> Int {
        try await sql.execute("DELETE FROM device WHERE token = \(token) AND user_id = \(user)")
    }

    /// Removes the devices of sessions of a user. - Returns: how many there were.
    package static func remove(sessions: [SessionID], of user: UserID, _ sql: Transaction) async throws -> Int {
        try await sql.execute("DELETE FROM device WHERE session_id = ANY(\(sessions)) AND user_id = \(user)")
    }

    /// Removes devices that the provider does not know any more, unless they have registered again since.
    ///
    /// - Parameter sentAt: when the push was sent that the provider refused, by device.
    package static func remove(unknown sentAt: [DeviceID: Instant], _ sql: Transaction) async throws {
        guard !sentAt.isEmpty else { return }
        let sorted = sentAt.sorted { $0.key < $1.key }
        _ = try await sql.execute(
            """
            DELETE FROM device d USING unnest(\(sorted.map(\.key)), \(sorted.map(\.value))) AS gone (id, sent_at)
            WHERE d.id = gone.id AND d.registered_at <= gone.sent_at
            """
        )
    }

    /// Where pushes to devices go; those that are gone are absent.
    package static func addresses(_ ids: [DeviceID], _ sql: some QueryExecutor) async throws -> [DeviceID: DeviceAddress] {
        let rows = try await sql.query(
            "SELECT id, token, user_id, locale, slowed, paused_until FROM device WHERE id = ANY(\(Array(Set(ids))))"
        )
        return Dictionary(
            try rows.map { row in
                let address = DeviceAddress(
                    token: try row.get(at: 1),
                    user: try row.get(at: 2),
                    locale: try row.get(at: 3),
                    slowed: Int(try row.get(at: 4, as: Int16.self)),
                    pausedUntil: try row.get(at: 5)
                )
                return (try row.get(at: 0, as: DeviceID.self), address)
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Pauses devices that get too many pushes, each time for longer; a push that is received ends that.
    package static func pause(_ until: [DeviceID: Instant], _ sql: Transaction) async throws {
        guard !until.isEmpty else { return }
        let sorted = until.sorted { $0.key < $1.key }
        _ = try await sql.execute(
            """
            UPDATE device d SET slowed = least(d.slowed + 1, 30), paused_until = new.until
            FROM unnest(\(sorted.map(\.key)), \(sorted.map(\.value))) AS new (id, until) WHERE d.id = new.id
            """
        )
    }

    /// Notes that pushes have reached these devices.
    package static func reached(_ ids: [DeviceID], _ sql: Transaction) async throws {
        guard !ids.isEmpty else { return }
        _ = try await sql.execute("UPDATE device SET slowed = 0 WHERE id = ANY(\(ids)) AND slowed <> 0")
    }

    static func removeAll(of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM device WHERE user_id = \(user)")
    }

    /// The locale of a user's device: of this session, else of the device registered last; nil without any.
    package static func locale(of user: UserID, session: SessionID?, _ database: Database) async throws -> String? {
        try await database.query(
            """
            SELECT locale FROM device WHERE user_id = \(user)
            ORDER BY coalesce(session_id = \(session), false) DESC, registered_at DESC LIMIT 1
            """
        ).first?.decode(as: String.self)
    }
}
