/// How a push of a kind is presented.
public enum PushFormat {
    /// The Android channel; the app makes all four.
    public enum Channel: String, CaseIterable, Sendable {
        case reminders
        case streaks
        case social
        case account
    }

    /// Most bytes of a collapse id (APNs).
    public static let mostCollapseBytes = 64
}

extension NotificationKind {
    /// The Android channel through which it is shown.
    public var channel: PushFormat.Channel {
        switch self {
        case .dailyWindow, .windowClosing, .habitReminder, .streakReminder: .reminders
        case .streakAtRisk, .streakBroken, .streakRecovered, .milestone, .freezeUsed, .lastFreeze, .repairOffer, .pauseEnded,
            .teamAtRisk, .teamBroken, .teamMilestone:
            .streaks
        case .friendRequest, .friendAccepted, .friendPosted, .nudge, .teamInvitation, .teamJoined: .social
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .test: .account
        }
    }

    /// Whether it may wake the device: what is of use only for a short time.
    public var isUrgent: Bool {
        switch self {
        case .dailyWindow, .windowClosing, .streakAtRisk, .teamAtRisk, .nudge, .friendRequest, .habitReminder, .streakReminder,
            .test:
            true
        default: false
        }
    }

    /// What replaces an earlier push on the screen: one of the same kind about the same thing. At most 64 bytes.
    ///
    /// - Parameter subject: the id of the streak or friendship; nil: the kind alone, or for what must not be replaced the entry itself.
    public func collapseID(subject: String?, entry: String) -> String {
        switch self {
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt: "\(name):\(entry)"
        default: subject.map { "\(name):\($0)" } ?? name
        }
    }
}
