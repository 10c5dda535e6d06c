/// A switch of the preferences (NO-2). All are on by default but `motivation`.
public enum PushSwitch: String, CaseIterable, Hashable, Sendable {
    case windowAlerts
    case windowClosing
    case streakAtRisk
    case streakBroken
    case friendPosted
    case milestone
    case friendRequests
    case nudges
    /// All kinds that have a switch.
    case enabled
    case habitReminders
    case motivation
}

/// What a user wants pushed, and when not (NO-2).
public struct PushPreferences: Hashable, Sendable {
    /// The switches that the user has turned off.
    public var off: Set<PushSwitch>
    /// nil: the user wants none.
    public var quiet: QuietHours?

    /// What is off for who has changed nothing.
    public static let offAtFirst: Set<PushSwitch> = [.motivation]

    public init(off: Set<PushSwitch> = Self.offAtFirst, quiet: QuietHours? = .standard) {
        self.off = off
        self.quiet = quiet
    }

    /// Whether a kind may be pushed.
    public func allow(_ kind: NotificationKind) -> Bool { kind.pushSwitch.map(isOn) ?? true }

    /// Whether a switch is on, and all of them together.
    public func isOn(_ push: PushSwitch) -> Bool { !off.contains(push) && !off.contains(.enabled) }
}

extension NotificationKind {
    /// The switch of a kind; nil: it cannot be switched off (moderation, receipts, security, the test push). A reminder of one
    /// habit has a switch of its own; `streakReminder`, about all that is open, goes with streaks at risk.
    public var pushSwitch: PushSwitch? {
        switch self {
        case .dailyWindow: .windowAlerts
        case .windowClosing: .windowClosing
        case .streakAtRisk, .teamAtRisk, .lastFreeze, .streakReminder: .streakAtRisk
        case .streakBroken, .streakRecovered, .freezeUsed, .freezeReturned, .repairOffer, .pauseEnded, .teamBroken: .streakBroken
        case .friendPosted: .friendPosted
        case .milestone, .teamMilestone: .milestone
        case .friendRequest, .friendAccepted, .teamInvitation, .teamJoined: .friendRequests
        case .nudge: .nudges
        case .habitReminder: .habitReminders
        case .motivation: .motivation
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .accountRestored, .test: nil
        }
    }
}
