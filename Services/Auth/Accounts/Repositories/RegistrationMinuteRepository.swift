internal import AuthDomain
internal import Database
internal import Kernel

/// How many registrations were asked for in each minute of the last hour.
struct RegistrationMinuteRepository: Sendable {
    let database: Database

    /// Counts one under the lock of its minute. - Returns: in how many seconds there is room; nil when there was.
    static func count(most: Int, now: Instant, _ sql: Transaction) async throws -> Int? {
        let minute = RegistrationLimit.minute(now)
        _ = try await sql.execute(
            """
            INSERT INTO registration_minute AS known (minute, asked) VALUES (\(minute), 1)
            ON CONFLICT (minute) DO UPDATE SET asked = known.asked + 1
            """
        )
        let counts = try await sql.query(
            """
            SELECT minute, asked FROM registration_minute WHERE minute > \(now - RegistrationLimit.window) ORDER BY minute
            """
        ).map { row in
            let (minute, asked) = try row.decode(as: (Instant.self, Int.self))
            return (minute: minute, asked: asked)
        }
        return RegistrationLimit.wait(counts, most: most, now: now)
    }

    /// Counts one no more that was counted at `instant`.
    static func giveBack(at instant: Instant, _ sql: Transaction) async throws {
        let minute = RegistrationLimit.minute(instant)
        _ = try await sql.execute("UPDATE registration_minute SET asked = asked - 1 WHERE minute = \(minute) AND asked > 0")
    }

    /// Deletes minutes that are over. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        try await database.execute("DELETE FROM registration_minute WHERE minute <= \(now - RegistrationLimit.window)")
    }
}
