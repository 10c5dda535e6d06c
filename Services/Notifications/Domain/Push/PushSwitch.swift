/// A switch of the preferences (NO-2). All are on by default.
public enum PushSwitch: String, CaseIterable, Hashable, Sendable {
    case windowAlerts
    case windowClosing
    case streakAtRisk
    case streakBroken
    case friendPosted
    case milestone
    case friendRequests
    case nudges
}

/// What a user wants pushed, and when not (NO-2).
public struct PushPreferences: Hashable, Sendable {
    /// The switches that the user has turned off.
    public var off: Set<PushSwitch>
    /// nil: the user wants none.
    public var quiet: QuietHours?

    public init(off: Set<PushSwitch> = [], quiet: QuietHours? = .standard) {
        self.off = off
        self.quiet = quiet
    }

    /// Whether a kind may be pushed.
    public func allow(_ kind: NotificationKind) -> Bool { kind.pushSwitch.map { !off.contains($0) } ?? true }
}

extension NotificationKind {
    /// The switch of a kind; nil: it cannot be switched off here (moderation, receipts, security; what users ask for themselves, as the
    /// reminder of a habit, is switched off where it was asked for).
    public var pushSwitch: PushSwitch? {
        switch self {
        case .dailyWindow: .windowAlerts
        case .windowClosing: .windowClosing
        case .streakAtRisk, .teamAtRisk, .lastFreeze, .streakReminder: .streakAtRisk
        case .streakBroken, .streakRecovered, .freezeUsed, .repairOffer, .pauseEnded, .teamBroken: .streakBroken
        case .friendPosted: .friendPosted
        case .milestone, .teamMilestone: .milestone
        case .friendRequest, .friendAccepted, .teamInvitation, .teamJoined: .friendRequests
        case .nudge: .nudges
        case .moderationWarning, .reportUpdate, .exportReady, .purchaseReceipt, .habitReminder, .test: nil
        }
    }
}
