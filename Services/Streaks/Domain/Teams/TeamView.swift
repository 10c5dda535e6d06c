public import Kernel

/// A circle's streak as a member sees it (TS-4).
public enum TeamView {
    /// What became of a date.
    public enum Mark: Hashable, Sendable, CaseIterable {
        case none
        case complete
        case open
        case neutral
        case missed
    }

    /// A date of the calendar.
    public struct Day: Hashable, Sendable {
        public let date: CalendarDate
        public let mark: Mark
        /// How many contributed.
        public let contributed: Int
        public let youContributed: Bool
    }

    /// Dates of the calendar. The ledger must be whole: dates that its checkpoint hides would be marked none.
    public static func days(
        _ dates: some Sequence<CalendarDate>,
        _ ledger: StreakLedger,
        _ state: StreakState,
        reader: UserID
    ) -> [Day] {
        dates.map { date in
            let posted = ledger.contributions(to: date, known: state.asOf)
            return Day(
                date: date,
                mark: mark(state.mark(on: date)),
                contributed: posted.count,
                youContributed: posted.contains { $0.user == reader }
            )
        }
    }

    private static func mark(_ mark: StreakState.Mark) -> Mark {
        switch mark {
        case .complete, .frozen, .filled: .complete
        case .open: .open
        case .none: .none
        case .neutral, .covered: .neutral
        case .missed: .missed
        }
    }

    /// Whether the open date is at risk: less than 6 h are left, with a grace until its end, and contributions are missing (MS-4).
    public static func isAtRisk(_ date: TeamDate, _ state: StreakState) -> Bool {
        guard state.status == .active, state.count > 0, !date.isNeutral, !date.isReached else { return false }
        return state.graceDate != nil || state.asOf > date.endsAt - StreakPolicy.team.riskSpan
    }
}
