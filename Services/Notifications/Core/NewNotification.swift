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
    }

    package var user: UserID
    package var kind: NotificationKind
    package var values: NotificationValues
    package var actor: UserID?
    package var streak: StreakID?
    package var friendship: FriendshipID?
    package var useful: Usefulness

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
        useful: Usefulness = .asItsKind
    ) {
        self.user = user
        self.kind = kind
        self.values = values
        self.actor = actor
        self.streak = streak
        self.friendship = friendship
        self.useful = useful
    }

    /// From when on its push is of no use to a reader in `zone`.
    func uselessAt(in zone: Zone, now: Instant) -> Instant {
        switch useful {
        case .asItsKind: now + kind.usefulFor
        case .until(let end): end
        case .through(let date): zone.end(of: date)
        case .today: zone.end(of: zone.date(at: now))
        }
    }
}

/// An entry of the log as it is stored.
package struct StoredNotification: Sendable {
    package let id: NotificationID
    package let user: UserID
    package let kind: NotificationKind
    package let values: NotificationValues
    package let actor: UserID?
    package let streak: StreakID?
    package let friendship: FriendshipID?
    package let createdAt: Instant
    package let readAt: Instant?

    /// Its text, cut to length.
    ///
    /// - Parameter name: of its actor; nil: who may not be named.
    package func text(name: String?, in language: Language) -> NotificationText {
        NotificationText.of(kind, values, name: name, in: language)
    }

    /// The path of what the app opens for it.
    package var linkPath: String { DeepLink.path(kind, wording: values.wording, streak: streak) }
}
