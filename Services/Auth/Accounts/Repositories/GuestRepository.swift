internal import AuthDomain
internal import Cryptography
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

    /// What the peeks of a client address are counted by; nil when no client stands behind the call.
    static func key(of address: IPAddress?) -> [UInt8]? {
        address.map { Array(SHA256.hash(data: "guests \($0.site)".utf8)) }
    }

    /// Peeks that the guests of an address have left.
    func remaining(ofAddress key: [UInt8], now: Instant, _ sql: Transaction) async throws -> Int {
        try await sql.query("SELECT peeks_used, peeks_on FROM guest_address WHERE key = \(key)").first.map { row in
            let (used, date) = try row.decode(as: (Int.self, CalendarDate.self))
            return GuestPeeks.remaining(used: used, usedOn: date, of: GuestPeeks.dailyOfAddress, now: now)
        } ?? GuestPeeks.dailyOfAddress
    }

    /// Counts a peek of an address under its lock. - Returns: how many are left; negative when there was none.
    func count(ofAddress key: [UInt8], now: Instant, _ sql: Transaction) async throws -> Int {
        let date = GuestPeeks.date(now)
        let used = try await sql.query(
            """
            INSERT INTO guest_address AS known (key, peeks_used, peeks_on) VALUES (\(key), 1, \(date))
            ON CONFLICT (key) DO UPDATE SET peeks_on = EXCLUDED.peeks_on,
                peeks_used = CASE WHEN known.peeks_on = EXCLUDED.peeks_on THEN known.peeks_used + 1 ELSE 1 END
            RETURNING peeks_used
            """
        ).first?.decode(as: Int.self)
        return GuestPeeks.dailyOfAddress - (used ?? 1)
    }

    /// Deletes counts of addresses that are over, up to 1,000. - Returns: how many.
    func purgeAddresses(now: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM guest_address WHERE key IN (SELECT key FROM guest_address WHERE peeks_on < \(GuestPeeks.date(now))
                ORDER BY peeks_on LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
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
