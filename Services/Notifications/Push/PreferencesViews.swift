internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsDomain

extension Preferences {
    init(_ stored: PreferencesRepository.Stored) {
        self.init(
            windowAlerts: !stored.off.contains(.windowAlerts),
            windowClosing: !stored.off.contains(.windowClosing),
            streakAtRisk: !stored.off.contains(.streakAtRisk),
            streakBroken: !stored.off.contains(.streakBroken),
            friendPosted: !stored.off.contains(.friendPosted),
            milestone: !stored.off.contains(.milestone),
            friendRequests: !stored.off.contains(.friendRequests),
            nudges: !stored.off.contains(.nudges),
            quietHours: stored.hasQuietHours,
            quietStartHour: stored.quietStart,
            quietEndHour: stored.quietEnd,
            enabled: !stored.off.contains(.enabled),
            habitReminders: !stored.off.contains(.habitReminders),
            motivation: !stored.off.contains(.motivation)
        )
    }
}

extension UpdatePreferencesRequest {
    /// The switches that are given.
    var switches: [PushSwitch: Bool] {
        let given: [(PushSwitch, Bool?)] = [
            (.windowAlerts, windowAlerts), (.windowClosing, windowClosing), (.streakAtRisk, streakAtRisk),
            (.streakBroken, streakBroken), (.friendPosted, friendPosted), (.milestone, milestone),
            (.friendRequests, friendRequests), (.nudges, nudges), (.enabled, enabled), (.habitReminders, habitReminders),
            (.motivation, motivation),
        ]
        return Dictionary(
            given.compactMap { push, isOn in isOn.map { (push, $0) } },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
