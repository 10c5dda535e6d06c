package import Kernel
package import NotificationsDomain

/// An entry that is about to be written.
package struct NewNotification: Sendable {
    /// How long its push is of use (NO-6).
    package enum Usefulness: Sendable {
        /// As long as those of its kind are.
        case asItsKind
        case until(Instant)
        /// Until a date is over for the reader.
        case through(CalendarDate)
        /// Until the reader's present date is over.
        case today
        /// Not at all: it is in the log only.
        case inLogOnly
    }

    package var user: UserID
    package var kind: NotificationKind
    package var values: NotificationValues
    package var actor: UserID?
    package var streak: StreakID?
    package var friendship: FriendshipID?
    package var circle: CircleID?
    /// Of an invitation; empty for all else.
    package var code: String
    package var habit: HabitID?
    /// That a reminder of a habit, or a freeze, is about.
    package var date: CalendarDate?
    /// Until when its reader can do what it offers or asks for; nil: it does neither.
    package var deadline: Instant?
    package var useful: Usefulness
    /// Who wants pushes of this kind gets one that says the same, by the same cause: this entry is in the log only then.
    package var saidBy: NotificationKind?

    /// An entry for `user`.
    ///
    /// - Parameter actor: who caused it: its text may name this user, and no other.
    package init(
        user: UserID,
        kind: NotificationKind,
        values: NotificationValues = NotificationValues(),
        actor: UserID? = nil,
        streak: StreakID? = nil,
        friendship: FriendshipID? = nil,
        circle: CircleID? = nil,
        code: String = "",
        habit: HabitID? = nil,
        date: CalendarDate? = nil,
        deadline: Instant? = nil,
        useful: Usefulness = .asItsKind,
        saidBy: NotificationKind? = nil
    ) {
        self.user = user
        self.kind = kind
        self.values = values
        self.actor = actor
        self.streak = streak
        self.friendship = friendship
        self.circle = circle
        self.code = code
        self.habit = habit
        self.date = date
        self.deadline = deadline
        self.useful = useful
        self.saidBy = saidBy
    }

    /// Whether it is read when it is written: it says what its reader has just done.
    var isRead: Bool { kind.isConfirmation(values.wording) }

    /// From when on its push is of no use to a reader in `zone`.
    func uselessAt(in zone: Zone, now: Instant) -> Instant {
        switch useful {
        case .asItsKind: now + kind.usefulFor
        case .until(let end): end
        case .through(let date): zone.end(of: date)
        case .today: zone.end(of: zone.date(at: now))
        case .inLogOnly: now
        }
    }
}

/// An entry that is written when those are there whom it is about.
package struct NotificationDraft: Sendable {
    /// Who reads it.
    let user: UserID
    /// Whom it may be about.
    let others: [UserID]
    /// The entry, of those of `others` who have an account and whom no block hides from the reader; nil: none.
    let entry: @Sendable (_ present: Set<UserID>) -> NewNotification?

    /// An entry that is about its actor, or no one.
    package init(_ new: NewNotification) {
        user = new.user
        others = [new.actor].compactMap { $0 }
        entry = { _ in new }
    }

    /// An entry whose text depends on which of several users are there.
    ///
    /// - Parameter entry: for `user`; its actor is one of `others`, if it has one.
    package init(
        for user: UserID,
        among others: [UserID],
        _ entry: @escaping @Sendable (_ present: Set<UserID>) -> NewNotification?
    ) {
        (self.user, self.others, self.entry) = (user, others, entry)
    }
}

/// An entry of the log as it is stored.
package struct StoredNotification: Sendable {
    package let id: NotificationID
    package let user: UserID
    package let kind: NotificationKind
    /// As they were written; what they come to at an instant says `read(at:)`.
    package private(set) var values: NotificationValues
    package let actor: UserID?
    package let streak: StreakID?
    package let friendship: FriendshipID?
    package let createdAt: Instant
    package let readAt: Instant?
    package let circle: CircleID?
    /// Of an invitation; empty for all else.
    package let code: String
    package let habit: HabitID?
    /// That a reminder of a habit, or a freeze, is about.
    package let date: CalendarDate?
    /// Until when its reader can do what it offers or asks for; nil: it does neither, or was written before there were deadlines.
    package let deadline: Instant?
    /// The break that it is about was undone after it.
    package let isUndone: Bool
    /// About the streak of daily snaps of a reader whose streaks with friends say enough, as `NotificationRepository` judges it.
    package let isSaidByFriends: Bool

    /// As it reads at an instant: what it offers would succeed then (NO-5).
    package func read(at now: Instant) -> StoredNotification {
        // Of entries that were written before there were deadlines: RC-2.
        let end = deadline ?? (kind == .streakBroken ? createdAt + .hours(24) : nil)
        var entry = self
        entry.values = kind.values(values, deadline: end, isUndone: isUndone, at: now)
        return entry
    }

    /// Its text, cut to length.
    ///
    /// - Parameter name: of its actor; nil: who may not be named.
    package func text(name: String?, in language: Language) -> NotificationText {
        NotificationText.of(kind, values, name: name, in: language)
    }

    /// The path of what the app opens for it.
    package var linkPath: String {
        DeepLink.path(kind, wording: values.wording, streak: streak, circle: circle, habit: habit, code: code)
    }
}
