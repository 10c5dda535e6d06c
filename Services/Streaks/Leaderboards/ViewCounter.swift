internal import Kernel
internal import Outbox
internal import StreaksAPI
private import Synchronization

/// Counts who looks at leaderboards, without a statement in the request: each user once a week, written by a job a few seconds
/// later. What a replica that is killed had not written is not counted.
final class ViewCounter: Sendable {
    struct View: Hashable, Sendable {
        let user: UserID
        /// The Monday.
        let week: CalendarDate
    }

    /// Views that are remembered as written, so that most requests write nothing.
    private static let mostKnown = 100_000
    private static let mostAtOnce = 1_000

    private struct State {
        var known: Set<View> = []
        var waiting: Set<View> = []
    }

    private let clock: any Clock
    private let state = Mutex(State())

    init(clock: any Clock) { self.clock = clock }

    func note(_ user: UserID) {
        let view = View(user: user, week: Self.week(at: clock.now()))
        state.withLock { state in
            guard !state.known.contains(view) else { return }
            if state.known.count >= Self.mostKnown { state.known.removeAll() }
            state.known.insert(view)
            state.waiting.insert(view)
        }
    }

    /// Writes what waits, and emits what is new. - Returns: how many views.
    func write(_ work: UnitOfWorkFactory) async throws -> Int {
        let views = state.withLock { state in
            let batch = Array(state.waiting.prefix(Self.mostAtOnce))
            state.waiting.subtract(batch)
            return batch
        }
        guard !views.isEmpty else { return 0 }
        do {
            try await work.run(trace: "", requestID: "") { work in
                let new = try await ViewRepository.add(views, work.sql)
                try await work.emit(new.map { LeaderboardViewed(userID: $0.user, week: $0.week) })
            }
        } catch {
            state.withLock { $0.waiting.formUnion(views) }
            throw error
        }
        return views.count
    }

    static func week(at instant: Instant) -> CalendarDate {
        let today = Zone.utc.date(at: instant)
        return today.advanced(by: 1 - today.isoWeekday)
    }
}
