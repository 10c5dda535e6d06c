import Database
import Kernel
import Testing

@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

@Suite struct OutagePageTests {
    @Test(arguments: [7, 100])
    func `an outage finds each streak it may touch once, and no other, among thousands`(limit: Int) async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let now = world.clock.now()
            // Broken, running and ended ones inside the outage and around it; what is due lies where breaks do.
            _ = try await world.database.execute(
                """
                INSERT INTO streak (id, kind, started_at, status, broken_at, next_due, settled_at)
                SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, \(now - .days(90)), 1 + n % 3,
                    CASE n % 3 WHEN 1 THEN at END, CASE n % 3 WHEN 0 THEN at END, \(now)
                FROM (SELECT n, \(now - .days(60)) + n % 61 * interval '1 day' AS at FROM generate_series(1, 11000) AS n) AS streaks
                """
            )
            var outage = OutageWork(id: OutageID(high: 1, low: 1), from: now - .days(30), until: now - .days(29))
            var found: [StreakID] = []
            var pages = 0
            repeat {
                let current = outage
                let page = try await world.database.transaction { sql in
                    try await OutageRepository.page(of: current, limit: limit, sql)
                }
                #expect(page.touched.count <= limit)
                found += page.touched
                outage.reached = page.reached
                pages += 1
            } while outage.reached != nil && pages < 1_000
            let expected = try await world.database.query(
                """
                SELECT id FROM streak WHERE status < 3 AND coalesce(broken_at, next_due) > \(outage.from)
                    AND coalesce(broken_at, next_due) <= \(outage.until + .days(4))
                """
            ).map { try $0.decode(as: StreakID.self) }
            #expect(expected.count > 500)
            #expect(found.count == expected.count && Set(found) == Set(expected))
        }
    }
}
