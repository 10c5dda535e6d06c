internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// MS-5. Somebody who is not part of the streak is answered as if there were none.
    func getStreak(_ request: GetStreakRequest, context: CallContext) async throws -> StreakDetail {
        let user = try context.requireUser()
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        guard let view = try await views(.one(id), of: user, withFriends: true, context).first,
            let stored = try await streaks.ledgers([id], isWhole: true).first
        else { throw ServiceError.notFound("streak") }
        let state = fold(stored.ledger, StreakKeeper.policy, at: max(clock.now(), stored.row.lookedAt))
        let next = StreakKeeper.policy.milestones.next(after: state.count)
        return StreakDetail(
            streak: Self.item(view),
            calendar: (0..<90).reversed().map { back in
                let date = view.yourDate.advanced(by: -back)
                return CalendarDay(
                    date: date.description,
                    mark: CalendarMark(MutualView.mark(on: date, stored.ledger, state, reader: user))
                )
            },
            recoveries: Int32(state.tokensInUse),
            photoCount: view.row.photoCount,
            nextMilestone: Int32(next ?? 0),
            daysToNextMilestone: Int32(next.map { $0 - state.count } ?? 0)
        )
    }
}

extension CalendarMark {
    init(_ mark: MutualView.CalendarMark) {
        switch mark {
        case .none: self = .none
        case .you: self = .you
        case .friend: self = .friend
        case .both: self = .both
        case .broken: self = .broken
        case .recovered: self = .recovered
        }
    }
}
