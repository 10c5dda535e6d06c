public import Kernel

/// A mutual streak as one of its two members sees it (MS-4, MS-5).
public struct MutualView: Hashable, Sendable {
    /// What the friend list shows in one word (MS-4).
    public enum Pill: Hashable, Sendable {
        case bothPosted
        case waitingOnYou
        case waitingOnFriend
        case atRisk
    }

    /// A date of the reader's calendar (MS-5).
    public enum CalendarMark: Hashable, Sendable {
        case none
        case you
        case friend
        case both
        case broken
        case recovered
    }

    /// The reader's present date, and the friend's.
    public let yourDate: CalendarDate
    public let friendDate: CalendarDate
    /// Each on their own present date.
    public let youPostedToday: Bool
    public let friendPostedToday: Bool
    /// nil unless the streak is active.
    public let pill: Pill?

    /// nil when the ledger is not one of `reader` and one other.
    public init?(_ ledger: StreakLedger, _ state: StreakState, reader: UserID) {
        guard ledger.participants.count == 2, let you = ledger.participant(reader),
            let friend = ledger.participants.first(where: { $0.user != reader })
        else { return nil }
        let now = state.asOf
        func posted(_ participant: StreakLedger.Participant, _ date: CalendarDate) -> Bool {
            ledger.hasContributed(participant.user, on: date, known: now)
        }
        let yourDate = you.zones.date(at: now)
        let friendDate = friend.zones.date(at: now)
        self.yourDate = yourDate
        self.friendDate = friendDate
        youPostedToday = posted(you, yourDate)
        friendPostedToday = posted(friend, friendDate)
        guard state.status == .active, let open = state.openDate else {
            pill = nil
            return
        }
        // The same rule as in lists, which know no more of a zone than the date it shows.
        pill = Self.pill(
            isAtRisk: state.isAtRisk,
            open: open,
            you: Side(date: yourDate, hasPosted: posted(you, open)),
            friend: Side(date: friendDate, hasPosted: posted(friend, open))
        )
    }

    /// One of the two, as far as the pill is concerned.
    public struct Side: Hashable, Sendable {
        /// What their clock shows.
        public let date: CalendarDate
        /// Whether they have posted for the earliest date that is still open.
        public let hasPosted: Bool

        public init(date: CalendarDate, hasPosted: Bool) { (self.date, self.hasPosted) = (date, hasPosted) }
    }

    /// The pill of an active streak (MS-4). What counts is the earliest date that is still open for the streak: a member whose clock shows it
    /// and who has not posted for it is waited for.
    ///
    /// - Parameter open: the earliest date that can still be completed.
    public static func pill(isAtRisk: Bool, open: CalendarDate, you: Side, friend: Side) -> Pill {
        if isAtRisk { return .atRisk }
        if you.date == open, !you.hasPosted { return .waitingOnYou }
        if friend.date >= open, !friend.hasPosted { return .waitingOnFriend }
        return you.hasPosted ? .waitingOnFriend : .bothPosted
    }

    /// A date of the reader's calendar, from the ledger and its state.
    public static func mark(
        on date: CalendarDate,
        _ ledger: StreakLedger,
        _ state: StreakState,
        reader: UserID
    ) -> CalendarMark {
        let posted = ledger.contributions(to: date, known: state.asOf).map(\.user)
        return mark(
            state.mark(on: date),
            youPosted: posted.contains(reader),
            friendPosted: posted.contains { $0 != reader }
        )
    }

    /// A date of the reader's calendar, from what is stored of it.
    public static func mark(_ mark: StreakState.Mark, youPosted: Bool, friendPosted: Bool) -> CalendarMark {
        switch (mark, youPosted, friendPosted) {
        case (_, true, true): .both
        case (.missed, _, _): .broken
        case (.covered, _, _): .recovered
        case (_, true, false): .you
        case (_, false, true): .friend
        case (_, false, false): .none
        }
    }
}
