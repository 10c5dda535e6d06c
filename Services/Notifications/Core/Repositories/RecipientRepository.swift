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

    /// Devices and preferences of users; those without a device are absent.
    static func find(_ users: [UserID], _ sql: Transaction) async throws -> [UserID: Recipient] {
        let rows = try await sql.query(
            """
            SELECT d.user_id, d.id, p.user_id IS NOT NULL, \(PreferencesRepository.columns)
            FROM device d LEFT JOIN push_preferences p ON p.user_id = d.user_id WHERE d.user_id = ANY(\(Array(Set(users))))
            """
        )
        return try Dictionary(grouping: rows) { try $0.get(at: 0, as: UserID.self) }.compactMapValues { rows in
            guard let first = rows.first else { return nil }
            let isChanged: Bool = try first.get(at: 2)
            let stored = isChanged ? try PreferencesRepository.stored(first, from: 3) : PreferencesRepository.Stored()
            return Recipient(devices: try rows.map { try $0.get(at: 1, as: DeviceID.self) }, preferences: stored.preferences)
        }
    }

    /// The places that are taken of users' dates, without those of which none is.
    ///
    /// Places are changed only in transactions that have locked the reader's log before (`LiveEvents.changeLogs`): they exclude each other.
    static func places(_ days: Set<PushDay>, _ sql: Transaction) async throws -> [PushDay: DayPlaces] {
        guard !days.isEmpty else { return [:] }
        let days = Array(days)
        let rows = try await sql.query(
            """
            SELECT p.user_id, p.on_date, p.open_taken, p.kept
            FROM unnest(\(days.map(\.user)), \(days.map(\.date))) AS day (user_id, on_date) JOIN push_day p USING (user_id, on_date)
            """
        )
        return Dictionary(
            try rows.map { row in
                let day = PushDay(user: try row.get(at: 0), date: try row.get(at: 1))
                return (day, DayPlaces(openTaken: Int(try row.get(at: 2, as: Int16.self)), keptBits: try row.get(at: 3)))
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Notes which places are taken of users' dates.
    static func store(_ places: [PushDay: DayPlaces], _ sql: Transaction) async throws {
        guard !places.isEmpty else { return }
        let sorted = places.sorted { ($0.key.user, $0.key.date) < ($1.key.user, $1.key.date) }
        _ = try await sql.execute(
            """
            INSERT INTO push_day (user_id, on_date, open_taken, kept)
            SELECT user_id, on_date, open_taken, kept
            FROM unnest(\(sorted.map(\.key.user)), \(sorted.map(\.key.date)), \(sorted.map { Int16(clamping: $0.value.openTaken) }),
                \(sorted.map(\.value.keptBits))) AS day (user_id, on_date, open_taken, kept)
            ORDER BY user_id, on_date
            ON CONFLICT (user_id, on_date) DO UPDATE SET open_taken = EXCLUDED.open_taken, kept = EXCLUDED.kept
            """
        )
    }

    /// Queues pushes.
    static func queue(_ pushes: [NewDelivery], now: Instant, _ sql: Transaction) async throws {
        guard !pushes.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO delivery (id, notification_id, device_id, user_id, due_at, useless_at, created_at)
            SELECT id, entry, device, reader, due_at, useless_at, \(now)
            FROM unnest(\(pushes.map(\.id)), \(pushes.map(\.entry)), \(pushes.map(\.device)), \(pushes.map(\.user)),
                \(pushes.map(\.dueAt)), \(pushes.map(\.uselessAt))) AS new (id, entry, device, reader, due_at, useless_at)
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

/// A date of a user, of which so many pushes are left (NO-5).
struct PushDay: Hashable, Sendable {
    let user: UserID
    let date: CalendarDate
}

/// A push that is about to be queued.
struct NewDelivery: Sendable {
    let id: DeliveryID
    let entry: NotificationID
    let device: DeviceID
    let user: UserID
    let dueAt: Instant
    let uselessAt: Instant
}
