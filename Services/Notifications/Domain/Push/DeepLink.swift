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
    public static func path(_ kind: NotificationKind, wording: Int16, streak: StreakID?) -> String {
        let detail = streak.map { "streak/\($0)" } ?? "home"
        switch kind {
        case .streakBroken: return wording == Wording.hasNoToken ? paywall(.streakBroken) : detail
        case .streakAtRisk, .streakRecovered, .nudge, .freezeUsed, .lastFreeze, .repairOffer, .pauseEnded, .teamAtRisk,
            .teamBroken, .streakReminder:
            return detail
        case .milestone, .teamMilestone: return streak.map { "share-milestone/\($0)" } ?? "home"
        case .friendPosted, .dailyWindow, .windowClosing, .habitReminder: return "home"
        case .friendRequest, .teamInvitation: return "friends?tab=requests"
        case .friendAccepted, .teamJoined: return "friends"
        case .moderationWarning, .reportUpdate, .test: return "notifications"
        case .exportReady, .purchaseReceipt: return "settings"
        }
    }
}
