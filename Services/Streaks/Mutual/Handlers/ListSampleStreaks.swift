internal import Bus
internal import CommonAPI
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// Streaks that do not exist, for guests to see what it is like (AU-8).
struct ListSampleStreaks: QueryHandler {
    let clock: any Clock

    func handle(_: ListSampleStreaksRequest, _: CallContext) async throws -> ListSampleStreaksReply {
        let now = clock.now()
        return ListSampleStreaksReply(streaks: StreaksDomain.SampleStreak.all(at: now).compactMap(Self.shown))
    }

    private static func shown(_ sample: StreaksDomain.SampleStreak) -> StreaksAPI.SampleStreak? {
        let state = sample.state
        guard let view = MutualView(sample.ledger, state, reader: sample.reader) else { return nil }
        let dates = view.yourDate.advanced(by: -89)...view.yourDate
        let next = StreakPolicy.mutual.nextMilestone(of: state)
        return StreaksAPI.SampleStreak(
            streak: StreakItem(
                id: sample.id,
                friend: UserSummary(
                    userID: sample.friend,
                    username: sample.friendUsername,
                    displayName: sample.friendName
                ),
                status: .active,
                currentCount: Int32(state.count),
                longestCount: Int32(state.longest),
                lastCompletedDate: state.lastCompletedDate,
                youPostedToday: view.youPostedToday,
                friendPostedToday: view.friendPostedToday,
                atRisk: state.isAtRisk,
                deadlineAt: state.deadlineAt,
                statusPill: view.pill.map { StatusPill($0) },
                startedAt: sample.ledger.start
            ),
            calendar: MutualView.days(dates, sample.ledger, state, reader: sample.reader).map { CalendarDay($0) },
            recoveries: Int32(state.tokensInUse),
            nextMilestone: Int32(next ?? 0),
            daysToNextMilestone: Int32(next.map { $0 - state.count } ?? 0)
        )
    }
}
