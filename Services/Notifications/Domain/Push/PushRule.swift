public import Kernel

/// Whether and when a notification is pushed (NO-5, NO-6).
public enum PushRule {
    /// When a push leaves, or why it does not.
    public enum Decision: Hashable, Sendable {
        /// Not before this instant.
        case send(at: Instant)
        case drop(DropReason)
    }

    /// By switch, quiet hours and usefulness; places of the day are taken after it (`DayPlaces`), on the date of the instant it gives.
    ///
    /// Asked when the entry is written and again when the push leaves, because a provider that was away may have delayed it into quiet
    /// hours, and the user may have changed their mind.
    ///
    /// - Parameters:
    ///   - wording: the entry's.
    ///   - uselessAt: from then on the push is of no use.
    public static func decide(
        _ kind: NotificationKind,
        wording: Int16 = 0,
        _ preferences: PushPreferences,
        in zone: Zone,
        at now: Instant,
        uselessAt: Instant
    ) -> Decision {
        guard preferences.allow(kind) else { return .drop(.switchedOff) }
        guard now < uselessAt else { return .drop(.useless) }
        guard !kind.passesQuietHours(wording), let quiet = preferences.quiet else { return .send(at: now) }
        let end = quiet.end(from: now, in: zone)
        // What cannot wait until the end of the quiet hours is of no use at their end.
        return end < uselessAt ? .send(at: end) : .drop(.quietHours)
    }

    /// Spreads pushes that are due in one instant for many users over the first seconds of that minute, evenly, and for one user always the
    /// same: so that not all of them open the app in the same second.
    ///
    /// - Parameter seconds: over how many, 0 to `mostSpread`.
    public static func spread(_ kind: NotificationKind, of user: UserID, over seconds: Int) -> Interval {
        guard kind.isReminder, seconds > 0 else { return .zero }
        // SplitMix64's finalizer, over an id that may differ in few bits only.
        var hash = user.high ^ user.low
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        hash ^= hash >> 31
        return .seconds(Int64(hash % UInt64(seconds)))
    }

    /// Reminders are emitted and consumed in the first seconds of their minute; the rest of it is left.
    public static let mostSpread = 45
}

/// Why a notification is in the log only, or a push that waited was given up. For metrics.
public enum DropReason: String, CaseIterable, Hashable, Sendable {
    case switchedOff = "switched_off"
    case quietHours = "quiet_hours"
    case limit = "limit"
    case useless = "useless"
    /// Another push says the same.
    case said = "said"
    /// The user has read it meanwhile.
    case read = "read"
    /// The device, the entry or the user's account is gone, or a block hides the actor.
    case gone = "gone"
    /// Pushes are off (`notifications.push-url`).
    case off = "off"
}

extension NotificationKind {
    /// Only a streak at risk does, what comes at an hour that the user has chosen for it (NO-5), and the push that they have just
    /// asked for.
    public func passesQuietHours(_ wording: Int16) -> Bool {
        switch self {
        case .streakAtRisk, .test: true
        case .dailyWindow, .windowClosing: wording == Wording.hourIsChosen
        default: false
        }
    }

    /// Whether it comes by the clock, for many users in the same instant.
    public var isReminder: Bool {
        switch self {
        case .dailyWindow, .windowClosing, .streakAtRisk, .streakReminder: true
        default: false
        }
    }

    /// How long a push of this kind is of use when its cause sets no end (NO-6).
    public var usefulFor: Interval {
        switch self {
        case .friendRequest, .teamInvitation: .days(3)
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .accountRestored: .days(7)
        case .dailyWindow: .hours(2)
        case .windowClosing: .minutes(30)
        case .streakAtRisk, .teamAtRisk, .streakReminder: .hours(3)
        case .habitReminder: .hours(3)
        case .motivation: .hours(2)
        case .test: .minutes(10)
        case .friendAccepted, .friendPosted, .nudge, .milestone, .streakBroken, .streakRecovered, .freezeUsed, .freezeReturned,
            .lastFreeze, .repairOffer, .pauseEnded, .teamJoined, .teamBroken, .teamMilestone:
            .days(1)
        }
    }
}
