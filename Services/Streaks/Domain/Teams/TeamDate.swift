public import Kernel

/// What a date of a circle's streak needs and has (TS-4).
public struct TeamDate: Hashable, Sendable {
    public let date: CalendarDate
    /// Who counts for it: members who had joined before it, and had not left.
    public let members: Set<UserID>
    /// Who contributed for it, whether they count or not, and when.
    public let contributed: [UserID: Instant]
    /// How many members must contribute: 60 %, never fewer than 2.
    public let quorum: Int
    /// When it is over for every member, without a grace.
    public let endsAt: Instant
    /// It has a grace if it is missed: none was used in the last 7 dates.
    public let hasGrace: Bool

    /// Members who count and have contributed.
    public var present: Int { members.count { contributed[$0] != nil } }
    public var isReached: Bool { present > 0 && present >= quorum }
    /// How many more must contribute.
    public var missing: Int { max(0, quorum - present) }
    /// Below two members nothing can be missed.
    public var isNeutral: Bool { members.count < 2 }
    /// Members who count and have not contributed, in the order of their ids.
    public var waiting: [UserID] { members.filter { contributed[$0] == nil }.sorted() }
}

extension StreakLedger {
    /// A date of a circle's streak, as known at `now`.
    ///
    /// - Parameter date: after the ledger's checkpoint; members and contributions before it are not asked for.
    public func teamDate(_ date: CalendarDate, at now: Instant) -> TeamDate {
        let pass = FoldPass(self, .team, now: now)
        pass.run()
        return teamDate(date, pass)
    }

    private func teamDate(_ date: CalendarDate, _ pass: FoldPass) -> TeamDate {
        let members = pass.members(date).map(\.user)
        let known = contributions(to: date, known: pass.now)
        return TeamDate(
            date: date,
            members: Set(members),
            contributed: Dictionary(known.map { ($0.user, $0.receivedAt) }) { first, _ in first },
            quorum: pass.needed(of: members.count),
            endsAt: pass.end(of: date...date),
            hasGrace: pass.hadGrace(date...date)
        )
    }

    /// Whether a contribution of a user was received at this very instant.
    public func hasContribution(of user: UserID, receivedAt instant: Instant) -> Bool {
        contributions.values.contains { $0.contains { $0.user == user && $0.receivedAt == instant } }
    }

    /// A team's members now, in the order of their ids.
    public var presentMembers: [UserID] { participants.filter(\.isPresent).map(\.user) }

}

/// When a circle is notified that its streak may break (NO-5): once a date, 3 hours before it is over for every member.
public enum TeamReminder {
    /// How long before the end of the date.
    public static let lead = Interval.hours(3)

    /// When a reminder of a streak's open date is due; nil when there is nothing to remind of: the count is 0 (SD-8), the date is in its grace,
    /// or fewer than two members count.
    ///
    /// - Parameter handled: the newest date that was handled.
    public static func next(_ ledger: StreakLedger, _ state: StreakState, handled: CalendarDate?) -> Instant? {
        guard state.status == .active, state.count > 0, state.graceDate == nil, let open = state.openDate else { return nil }
        guard handled.map({ $0 < open }) ?? true else { return nil }
        let date = ledger.teamDate(open, at: state.asOf)
        return date.isNeutral || date.isReached ? nil : date.endsAt - lead
    }

    /// The date to remind of at `state.asOf`; nil when there is none, or not yet.
    public static func due(_ ledger: StreakLedger, _ state: StreakState, handled: CalendarDate?) -> TeamDate? {
        guard let at = next(ledger, state, handled: handled), at <= state.asOf, let open = state.openDate else { return nil }
        let date = ledger.teamDate(open, at: state.asOf)
        return state.asOf < date.endsAt ? date : nil
    }

    /// Members who can still contribute for a date: it is not over by their own clocks.
    public static func canHelp(_ date: TeamDate, _ ledger: StreakLedger, at now: Instant) -> [UserID] {
        date.waiting.filter { user in
            guard let zones = ledger.participant(user)?.zones else { return false }
            return zones.end(of: date.date) > now
        }
    }
}
