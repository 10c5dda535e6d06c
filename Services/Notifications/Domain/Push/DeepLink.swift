public import Kernel

/// What the app opens for a notification, below the base that the operator sets (`notifications.deep-link-base`).
public enum DeepLink {
    /// Why the store is opened.
    public enum PaywallContext: String, CaseIterable, Sendable {
        case streakBroken = "streak_broken"
        case streakLimit = "streak_limit"
        case settings = "settings"
    }

    /// The path of the store.
    public static func paywall(_ context: PaywallContext) -> String { "paywall?context=\(context.rawValue)" }

    /// The path for an entry of the log.
    ///
    /// - Parameters:
    ///   - wording: the entry's.
    ///   - streak: nil for what is about none, or about several.
    ///   - circle: nil for what is about none.
    ///   - habit: nil for what is about none.
    ///   - code: of an invitation; empty for all else.
    public static func path(
        _ kind: NotificationKind,
        wording: Int16,
        streak: StreakID?,
        circle: CircleID? = nil,
        habit: HabitID? = nil,
        code: String = ""
    ) -> String {
        // Streaks of the reader's own have no page below `streak/`.
        let detail = kind.isSolo(wording) ? "home" : streak.map { "streak/\($0)" } ?? "home"
        switch kind {
        // What is open today, or the habit that it is about.
        case .habitReminder, .motivation: return habit.map { "habits/\($0)" } ?? "today"
        case .streakReminder where wording == 0: return "today"
        case .milestone where habit != nil: return habit.map { "habits/\($0)" } ?? "today"
        case .streakBroken: return wording == Wording.hasNoToken ? paywall(.streakBroken) : detail
        case .streakAtRisk, .streakRecovered, .nudge, .repairOffer, .pauseEnded, .streakReminder, .freezeUsed, .lastFreeze,
            .freezeReturned:
            return detail
        case .teamAtRisk, .teamBroken, .teamJoined: return circle.map { "circles/\($0)" } ?? "circles"
        case .teamInvitation: return code.isEmpty ? "circles" : "circles/join/\(code)"
        case .teamMilestone where wording == Wording.teamRestored: return circle.map { "circles/\($0)" } ?? "circles"
        case .milestone where wording == Wording.tokenOnly: return detail
        case .milestone, .teamMilestone: return streak.map { "share-milestone/\($0)" } ?? "home"
        case .friendPosted, .dailyWindow, .windowClosing: return "home"
        case .friendRequest: return "friends?tab=requests"
        case .friendAccepted, .accountRestored: return "friends"
        case .moderationWarning, .reportUpdate, .test: return "notifications"
        case .exportReady, .purchaseReceipt: return "settings"
        }
    }
}
