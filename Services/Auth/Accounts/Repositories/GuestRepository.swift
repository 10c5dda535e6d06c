internal import AuthDomain
internal import Database
internal import Kernel

/// Devices without an account (AU-8).
struct GuestRepository: Sendable {
    let database: Database

    /// A guest and the peeks of the date they were last counted for.
    struct Guest: Sendable {
        let id: UserID
        let peeksUsed: Int
        let peeksOn: CalendarDate
    }

    /// The guest of a device, made when it is new.
    func upsert(deviceHash: [UInt8], newID: UserID, now: Instant, _ sql: Transaction) async throws -> Guest? {
        try await sql.query(
            """
            INSERT INTO guest (id, device_hash, created_at, seen_at, peeks_on)
            VALUES (\(newID), \(deviceHash), \(now), \(now), \(GuestPeeks.date(now)))
            ON CONFLICT (device_hash) DO UPDATE SET seen_at = EXCLUDED.seen_at
            RETURNING id, peeks_used, peeks_on
            """
        ).first.map(Self.guest)
    }

    /// A guest, locked until the transaction ends; nil when there is none.
    func lock(_ id: UserID, _ sql: Transaction) async throws -> Guest? {
        try await sql.query("SELECT id, peeks_used, peeks_on FROM guest WHERE id = \(id) FOR UPDATE").first.map(Self.guest)
    }

    func count(_ id: UserID, used: Int, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE guest SET peeks_used = \(used), peeks_on = \(GuestPeeks.date(now)), seen_at = \(now) WHERE id = \(id)"
        )
    }

    /// Deletes devices not seen for 30 days, up to 1,000. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        let limit = now - .days(30)
        return try await database.execute(
            """
            DELETE FROM guest WHERE id IN
                (SELECT id FROM guest WHERE seen_at < \(limit) ORDER BY seen_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private static func guest(_ row: Row) throws -> Guest {
        let (id, used, date) = try row.decode(as: (UserID.self, Int.self, CalendarDate.self))
        return Guest(id: id, peeksUsed: used, peeksOn: date)
    }
}
