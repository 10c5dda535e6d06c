import Database
import Kernel
import StreaksAPI
import TestSupport
import Testing

@testable import StreaksCheckIns

/// How many reports of a date are kept (D22).
@Suite(.timeLimit(.minutes(3))) struct TrackingReportTests {
    @Test func `of the reports of a date 200 are kept, and further ones still change its entry and are never refused`()
        async throws
    {
        try await withCheckIns { life in
            let database = life.world.database
            func count() async throws -> Int {
                try await database.query("SELECT count(*) FROM tracking_update").first?.get(at: 0) ?? -1
            }
            try await life.checkIn(5)
            try await database.execute(
                """
                INSERT INTO tracking_update (id, user_id, on_date, told_at)
                SELECT gen_random_uuid(), user_id, on_date, told_at FROM tracking_update CROSS JOIN generate_series(1, 198)
                """
            )
            #expect(try await life.log(LogTrackingRequest(steps: 12_000)).trackingEntry?.steps == 12_000)
            #expect(try await count() == 200)
            #expect(try await life.log(LogTrackingRequest(steps: 13_000)).trackingEntry?.steps == 13_000)
            #expect(try await life.checkIn(2).trackingEntry?.moodScore == 2)
            #expect(try await count() == 200)
            // Another date has reports of its own.
            life.clock.advance(by: .days(1))
            try await life.checkIn(6)
            #expect(try await count() == 201)
        }
    }
}
