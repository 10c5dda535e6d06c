internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Circles' streaks as their members see them.
struct TeamViews: Sendable {
    /// How many dates the calendar shows.
    private static let days = 90

    let core: StreaksCore
    let work: UnitOfWorkFactory
    let clock: any Clock

    /// The streak of a circle that the reader is in. One whose date is due is settled first: a streak is always read settled (SD-4).
    func streak(_ circle: ReplicatedCircle, seenBy user: UserID, _ context: CallContext) async throws -> TeamStreak {
        let people = try await visible(circle, to: user, context)
        guard let team = try await TeamRepository.find(circle.id, core.store.database),
            let stored = try await settled(team.streak, context)
        else { return waiting(circle, people) }
        let now = max(clock.now(), stored.row.settledAt)
        let policy = core.writer.policy(for: .team)
        let state = fold(stored.ledger, policy, at: now)
        let next = policy.nextMilestone(of: state)
        let today = stored.ledger.participant(user)?.zones.date(at: now) ?? Zone.utc.date(at: now)
        let calendar = TeamView.days(today.advanced(by: 1 - Self.days)...today, stored.ledger, state, reader: user)
        var view = TeamStreak(
            circleID: circle.id,
            streakID: stored.row.id,
            status: .active,
            currentCount: Int32(state.count),
            longestCount: Int32(state.longest),
            lastCompletedDate: state.lastCompletedDate,
            startedAt: stored.row.startedAt,
            memberContributions: [],
            nextMilestone: Int32(next ?? 0),
            daysToNextMilestone: Int32(next.map { $0 - state.count } ?? 0),
            calendar: calendar.map { TeamDay($0) }
        )
        show(state.graceDate ?? state.openDate ?? today, of: stored.ledger, state, circle, people, in: &view)
        return view
    }

    /// What a date needs and has.
    private func show(
        _ open: CalendarDate,
        of ledger: StreakLedger,
        _ state: StreakState,
        _ circle: ReplicatedCircle,
        _ people: [UserID: UserSummary],
        in view: inout TeamStreak
    ) {
        let date = ledger.teamDate(open, at: state.asOf)
        let isInGrace = state.graceDate == open
        view.date = open
        view.membersOfDate = Int32(date.members.count)
        view.quorum = Int32(date.quorum)
        view.contributed = Int32(date.present)
        view.quorumReached = date.isReached
        view.neutral = date.isNeutral
        view.deadlineAt = isInGrace ? state.deadlineAt : date.endsAt
        view.graceUntil = isInGrace ? state.deadlineAt : nil
        view.graceAvailable = date.hasGrace && !isInGrace
        view.atRisk = TeamView.isAtRisk(date, state)
        view.memberContributions = circle.members.compactMap { member in
            guard let person = people[member.user] else { return nil }
            return MemberContribution(
                user: person,
                contributed: date.contributed[member.user] != nil,
                contributedAt: date.contributed[member.user],
                counts: date.members.contains(member.user),
                onDate: ledger.participant(member.user)?.zones.date(at: state.asOf) == open
            )
        }
    }

    /// A circle that has never had two members.
    private func waiting(_ circle: ReplicatedCircle, _ people: [UserID: UserSummary]) -> TeamStreak {
        TeamStreak(
            circleID: circle.id,
            status: .waiting,
            membersOfDate: 0,
            quorum: 2,
            neutral: true,
            memberContributions: circle.members.compactMap { member in
                people[member.user].map { MemberContribution(user: $0) }
            }
        )
    }

    private func settled(_ id: StreakID, _ context: CallContext) async throws -> StoredStreak? {
        let now = clock.now()
        guard let stored = try await core.store.load([id], isWhole: true).first, stored.row.status != .ended else { return nil }
        guard stored.row.isDue(at: now) else { return stored }
        try await work.run(context) { [writer = core.writer] work in
            _ = try await writer.settle(try await writer.store.lock([id], work.sql), work)
        }
        return try await core.store.load([id], isWhole: true).first
    }

    /// The members whom a reader may see: whom no block hides, and whose account is not shut (SO-7).
    private func visible(_ circle: ReplicatedCircle, to user: UserID, _ context: CallContext) async throws -> [UserID:
        UserSummary]
    {
        let hidden = try await core.blocks.hidden(from: user, among: circle.members.map(\.user))
        let shown = circle.members.map(\.user).filter { !hidden.contains($0) }
        return try await core.profiles.profiles(shown, context: context).filter(\.value.isVisible).mapValues(\.summary)
    }
}

extension TeamDay {
    init(_ day: TeamView.Day) {
        let mark: TeamMark =
            switch day.mark {
            case .none: .none
            case .complete: .complete
            case .open: .open
            case .neutral: .neutral
            case .missed: .missed
            }
        self.init(date: day.date, mark: mark, contributed: Int32(day.contributed), youContributed: day.youContributed)
    }
}
