internal import Database
internal import Kernel
internal import StreaksDomain
private import Synchronization

/// The leaderboards of this replica, in memory (CI-7).
///
/// Loaded from the table of streaks before the replica answers, and brought up to date from the feed every 500 ms: within a
/// second of a change every replica shows it, and all show the same, because place follows from the table alone.
final class Boards: Sendable {
    private let database: Database
    private let clock: any Clock
    private let state = Mutex(State())

    private struct State {
        var boards = Leaderboards()
        /// nil before the first load.
        var place: FeedPosition?
        var asOf = Instant.epoch
        /// By the machine's clock, to know whether the feed still has what comes next.
        var lookedAt = ContinuousClock.now
    }

    init(database: Database, clock: any Clock) { (self.database, self.clock) = (database, clock) }

    /// Reads all that is there. A million running streaks take a few seconds.
    func load() async throws {
        // First where the feed ends, then the streaks: what changes in between is read again.
        let began = ContinuousClock.now
        let place = try await BoardFeed.end(database)
        let boards = Leaderboards(try await BoardFeed.all(database))
        state.withLock { state in
            state.boards = boards
            state.place = place
            state.lookedAt = began
        }
        while try await follow() > 0 {}
    }

    /// Takes up what has changed. Safe to run several times at once: a look that another has overtaken is dropped.
    ///
    /// - Returns: 0 when the boards are up to date, otherwise the number of streaks that were taken up.
    func follow() async throws -> Int {
        let asOf = clock.now()
        let began = ContinuousClock.now
        let (known, lookedAt) = state.withLock { ($0.place, $0.lookedAt) }
        // The feed may have lost what comes next.
        guard let known, began - lookedAt < .seconds(BoardFeed.kept.microseconds / 1_000_000 * 4 / 5) else {
            try await load()
            return 0
        }
        var place = known
        let look = try await BoardFeed.look(from: &place, database)
        let isOurs = state.withLock { state -> Bool in
            guard state.place == known else { return false }
            state.boards.apply(look.updates)
            state.place = place
            state.lookedAt = began
            if !look.isCut { state.asOf = max(state.asOf, asOf) }
            return true
        }
        return isOurs && !look.isCut ? 0 : max(1, look.updates.count)
    }

    /// Reads the boards; they do not change meanwhile, so it must be short.
    ///
    /// - Parameter body: gets the boards, and the instant up to which everything is in them.
    func read<Result: Sendable>(_ body: (Leaderboards, Instant) -> Result) -> Result {
        state.withLock { body($0.boards, $0.asOf) }
    }
}
