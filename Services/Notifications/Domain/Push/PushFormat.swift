/// How a push of a kind is presented.
public enum PushFormat {
    /// The Android channel; the app makes all four.
    public enum Channel: String, CaseIterable, Sendable {
        case reminders
        case streaks
        case social
        case account
    }

    /// Buttons that a notification has.
    public enum Category: String, CaseIterable, Sendable {
        /// Complete, skip, snooze.
        case habitReminder = "habit_reminder"
        /// Complete and skip: it was put off three times.
        case lastHabitReminder = "habit_reminder_last"
    }

    /// How often the reminder of a habit is put off on a date (HA-5).
    public static let mostSnoozes: Int32 = 3

    /// Most bytes of a collapse id (APNs).
    public static let mostCollapseBytes = 64
}

extension NotificationKind {
    /// The Android channel through which it is shown.
    public var channel: PushFormat.Channel {
        switch self {
        case .dailyWindow, .windowClosing, .habitReminder, .streakReminder, .motivation: .reminders
        case .streakAtRisk, .streakBroken, .streakRecovered, .milestone, .freezeUsed, .freezeReturned, .lastFreeze, .repairOffer,
            .pauseEnded, .teamAtRisk, .teamBroken, .teamMilestone:
            .streaks
        case .friendRequest, .friendAccepted, .friendPosted, .nudge, .teamInvitation, .teamJoined: .social
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .accountRestored, .test: .account
        }
    }

    /// The buttons below it, as the app has made them (Expo's notification categories); nil: none.
    ///
    /// - Parameter values: of a reminder of a habit: `count` is how often it was put off.
    public func category(_ values: NotificationValues) -> PushFormat.Category? {
        guard self == .habitReminder, values.wording == 0 else { return nil }
        return values.count < PushFormat.mostSnoozes ? .habitReminder : .lastHabitReminder
    }

    /// Whether it is about a streak of the reader's own that is no habit: a check-in or one of the typed kinds.
    public func isSolo(_ wording: Int16) -> Bool {
        switch self {
        case .freezeUsed, .freezeReturned, .lastFreeze, .repairOffer, .pauseEnded: true
        case .milestone, .streakAtRisk, .streakBroken, .streakRecovered:
            (Wording.solo...Wording.soloShielded).contains(wording)
        case .streakReminder: wording != 0
        default: false
        }
    }

    /// Whether it is about a badge, an unlock or an achievement, and no streak.
    public func isReward(_ wording: Int16) -> Bool { self == .milestone && wording >= Wording.badge }

    /// The kind of the streak that an entry is about, as the API names it: `mutual`, `team`, `habit`, `check_in` or one of the typed
    /// kinds; nil: it is about none.
    public func streakType(_ values: NotificationValues, isOfCircle: Bool, isOfHabit: Bool) -> String? {
        // Entries of earlier versions have no kind of it with them: they were about check-ins.
        if isSolo(values.wording) { return values.subject.isEmpty ? "check_in" : values.subject }
        guard channel == .streaks, !isReward(values.wording) else { return nil }
        return isOfHabit ? "habit" : isOfCircle ? "team" : "mutual"
    }

    /// Whether it may wake the device: what is of use only for a short time. What confirms an action makes no sound either.
    public func isUrgent(_ wording: Int16) -> Bool { isUrgent && !isConfirmation(wording) }

    private var isUrgent: Bool {
        switch self {
        case .dailyWindow, .windowClosing, .streakAtRisk, .teamAtRisk, .nudge, .friendRequest, .habitReminder, .streakReminder,
            .test:
            true
        default: false
        }
    }

    /// What replaces an earlier push on the screen: one of the same kind about the same thing. At most 64 bytes.
    ///
    /// - Parameter subject: the id of the streak, habit or friendship; nil: the kind alone, or for what must not be replaced the entry itself.
    public func collapseID(subject: String?, entry: String) -> String {
        switch self {
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .accountRestored: "\(name):\(entry)"
        default: subject.map { "\(name):\($0)" } ?? name
        }
    }
}
