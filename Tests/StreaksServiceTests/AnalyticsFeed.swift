import Database
import Kernel
import TestSupport

@testable import Outbox
@testable import StreaksAnalytics
@testable import StreaksCore

/// The way of events into the figures.
enum AnalyticsFeed {
    /// Hands every event that was not handed over yet to the consumers, in order, and adds what they noted.
    static func catchUp(_ world: World, _ store: StreakStore, _ from: inout Int64) async throws {
        let rows = try await world.database.query(
            "SELECT position, subject, body FROM outbox WHERE position > \(from) ORDER BY position"
        )
        for row in rows {
            let (position, subject, body) = try row.decode(as: (Int64.self, String.self, [UInt8].self))
            from = position
            try await world.work.consume(subject, body, by: MutualConsumers.all + StreakConsumers.all + TeamConsumers.all)
        }
        let job = FigureJob(store: store, work: world.work)
        while try await job.addFacts() > 0 {}
    }
}
