internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain
internal import Wire

/// The events of a change of a circle's streak.
struct TeamEvent {
    private let team: TeamRepository.Team
    private let change: PlannedChange
    private let members: [UserID]
    private var state: StreakState { change.change.state }

    init(_ team: TeamRepository.Team, _ change: PlannedChange) {
        (self.team, self.change) = (team, change)
        members = change.change.ledger.presentMembers
    }

    /// In the order they happened.
    var all: [any Event] {
        guard !change.isStart else {
            return [TeamStreakStarted(streakID: team.streak, circleID: team.circle, at: change.now, memberIDs: members)]
        }
        return change.change.effects.compactMap { event($0) }
    }

    /// nil for what team streaks do not have.
    private func event(_ effect: StreakEffect) -> (any Event)? {
        switch effect {
        case .completed(let date, let count, let run): extended(date, count, run)
        case .milestone(let count, let date, _, let isFirst):
            TeamMilestoneReached(
                streakID: team.streak,
                circleID: team.circle,
                circleName: team.name,
                memberIDs: members,
                date: date,
                count: Int32(count),
                at: state.asOf,
                firstTime: isFirst
            )
        case .broken(let date, let at, _, let count):
            TeamStreakBroken(
                streakID: team.streak,
                circleID: team.circle,
                circleName: team.name,
                memberIDs: members,
                missedDate: date,
                count: Int32(count),
                brokenAt: at,
                repairableUntil: savable(date)
            )
        case .restored(let date):
            TeamStreakRestored(
                streakID: team.streak,
                circleID: team.circle,
                circleName: team.name,
                memberIDs: members,
                missedDate: date,
                count: Int32(state.count),
                at: state.asOf
            )
        case .graceStarted(let date, let until): grace(date, until)
        case .ended(let at):
            TeamStreakEnded(
                streakID: team.streak,
                circleID: team.circle,
                count: Int32(state.count),
                at: at,
                memberIDs: members
            )
        default: nil
        }
    }

    /// Until when a late contribution can undo the break of a date (SD-2, SD-6); nil when the time is over, as it is after a grace.
    private func savable(_ date: CalendarDate) -> Instant? {
        let end = change.change.ledger.teamDate(date, at: state.asOf).endsAt + StreakPolicy.team.lateTolerance
        return state.asOf < end ? end : nil
    }

    private func extended(_ date: CalendarDate, _ count: Int, _ run: CalendarDate) -> TeamStreakExtended {
        TeamStreakExtended(
            streakID: team.streak,
            circleID: team.circle,
            circleName: team.name,
            memberIDs: members,
            date: date,
            count: Int32(count),
            longest: Int32(max(state.longest, count)),
            runStart: run,
            at: state.asOf
        )
    }

    /// nil when the grace is over already: it was settled late.
    private func grace(_ date: CalendarDate, _ until: Instant) -> TeamGraceStarted? {
        guard until > state.asOf else { return nil }
        let open = change.change.ledger.teamDate(date, at: state.asOf)
        return TeamGraceStarted(
            streakID: team.streak,
            circleID: team.circle,
            circleName: team.name,
            memberIDs: members,
            date: date,
            count: Int32(state.count),
            missing: Int32(open.missing),
            graceUntil: until,
            waitingIDs: open.waiting.filter(members.contains)
        )
    }
}
