package import Database
package import Kernel
internal import NotificationsDomain

/// Whom a push of a new entry would reach.
struct Recipient: Sendable {
    let devices: [DeviceID]
    let preferences: PushPreferences
}

/// What the write path asks about a reader, and what it leaves for the push feature.
package enum RecipientRepository {
    /// Two users of whom one is about to read of the other.
    package struct Pair: Hashable, Sendable {
        package let reader: UserID
        package let actor: UserID

        package init(reader: UserID, actor: UserID) {
            self.reader = reader
            self.actor = actor
        }
    }

    /// Those pairs of which one blocks the other (SO-7).
    package static func hidden(_ pairs: Set<Pair>, _ sql: Transaction) async throws -> Set<Pair> {
        guard !pairs.isEmpty else { return [] }
        let rows = try await sql.query(
            """
            SELECT reader, actor FROM unnest(\(pairs.map(\.reader)), \(pairs.map(\.actor))) AS pair (reader, actor)
            WHERE EXISTS (SELECT 1 FROM block_replica WHERE active AND blocker = reader AND blocked = actor)
                OR EXISTS (SELECT 1 FROM block_replica WHERE active AND blocker = actor AND blocked = reader)
            """
        )
        return Set(try rows.map { Pair(reader: try $0.get(at: 0), actor: try $0.get(at: 1)) })
    }

    /// The reader's devices and preferences; nil without a device.
    static func find(_ user: UserID, _ sql: Transaction) async throws -> Recipient? {
        let rows = try await sql.query(
            """
            SELECT d.id, p.user_id IS NOT NULL, \(PreferencesRepository.columns)
            FROM device d LEFT JOIN push_preferences p ON p.user_id = d.user_id WHERE d.user_id = \(user)
            """
        )
        guard let first = rows.first else { return nil }
        let isChanged: Bool = try first.get(at: 1)
        let stored = isChanged ? try PreferencesRepository.stored(first, from: 2) : PreferencesRepository.Stored()
        return Recipient(devices: try rows.map { try $0.get(at: 0, as: DeviceID.self) }, preferences: stored.preferences)
    }

    /// Takes a place of the reader's date for a push. Transactions that do so for one reader exclude each other.
    ///
    /// - Returns: false when there is none.
    static func takePlace(_ kind: NotificationKind, of user: UserID, on date: CalendarDate, _ sql: Transaction) async throws
        -> Bool
    {
        guard !kind.isUncounted else { return true }
        _ = try await sql.execute("INSERT INTO push_day (user_id, on_date) VALUES (\(user), \(date)) ON CONFLICT DO NOTHING")
        let rows = try await sql.query(
            "SELECT open_taken, kept FROM push_day WHERE user_id = \(user) AND on_date = \(date) FOR UPDATE"
        )
        guard let row = rows.first else { return false }
        var places = DayPlaces(openTaken: Int(try row.get(at: 0, as: Int16.self)), keptBits: try row.get(at: 1))
        guard places.take(for: kind) else { return false }
        _ = try await sql.execute(
            """
            UPDATE push_day SET open_taken = \(Int16(clamping: places.openTaken)), kept = \(places.keptBits)
            WHERE user_id = \(user) AND on_date = \(date)
            """
        )
        return true
    }

    /// Queues a push to each device.
    ///
    /// - Parameter ids: as many as devices.
    static func queue(
        _ entry: NotificationID,
        of user: UserID,
        to devices: [DeviceID],
        ids: [DeliveryID],
        at due: Instant,
        uselessAt: Instant,
        now: Instant,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO delivery (id, notification_id, device_id, user_id, due_at, useless_at, created_at)
            SELECT id, \(entry), device, \(user), \(due), \(uselessAt), \(now) FROM unnest(\(ids), \(devices)) AS new (id, device)
            """
        )
    }

    /// Deletes what is kept of a user's pushes.
    static func deleteAll(of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM delivery WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM push_day WHERE user_id = \(user)")
    }
}

/// A push of one entry to one device.
package enum DeliveryTag {}
/// The id of a push.
package typealias DeliveryID = ID<DeliveryTag>
