/// The texts in English.
enum EnglishTexts: Texts {
    static func text(_ kind: NotificationKind, _ values: NotificationValues, name: String?) -> NotificationText {
        let name = name ?? "your friend"
        if let text = soloText(kind, values) ?? habitText(kind, values) ?? rewardText(kind, values) { return text }
        switch kind {
        case .friendRequest: return NotificationText("👋 New friend request", "\(name) wants to start a streak with you!")
        case .friendAccepted:
            return NotificationText("🤝 You are friends now", "\(name) accepted your friend request. Post your first snap!")
        case .nudge: return NotificationText("👉 \(name) nudged you", "\(name) is waiting for your snap. Keep the streak alive 🔥")
        case .dailyWindow, .windowClosing: return window(kind, values, name)
        case .friendPosted, .milestone, .streakBroken, .streakRecovered, .streakAtRisk: return streak(kind, values, name)
        case .freezeUsed, .freezeReturned, .lastFreeze, .repairOffer, .pauseEnded: return solo(kind, values)
        case .teamInvitation, .teamJoined, .teamAtRisk, .teamBroken, .teamMilestone: return team(kind, values, name)
        case .accountRestored: return restored(values)
        case .moderationWarning, .exportReady, .purchaseReceipt, .reportUpdate, .test, .habitReminder, .streakReminder,
            .motivation:
            return account(kind, values)
        }
    }

    private static func window(_ kind: NotificationKind, _ values: NotificationValues, _ name: String) -> NotificationText {
        let waiting =
            values.others == 0
            ? "\(name) is waiting!" : "\(name) and \(counted(values.others, "other", "others")) are waiting!"
        let left =
            values.amount > 0
            ? "\(counted(values.amount, "minute", "minutes")) left to snap" : "Your snap window has closed"
        let title = kind == .dailyWindow ? "📸 Time to snap!" : "⏰ \(left)"
        return NotificationText(title, "\(values.emoji) \(values.subject) — \(waiting)")
    }

    private static func streak(_ kind: NotificationKind, _ values: NotificationValues, _ name: String) -> NotificationText {
        let streak = "\(values.count)-day streak"
        switch (kind, values.wording) {
        case (.friendPosted, Wording.dateCompleted):
            return NotificationText("🔥 \(streak)", "\(name) sent a snap: today counts for both of you.")
        case (.friendPosted, _):
            return NotificationText("📸 \(name) posted", "\(name) sent a snap in your streak 🔥 Your turn!")
        case (.milestone, Wording.tokenOnly):
            let body = "You and \(name) each earned a recovery token with \(counted(values.count, "day", "days"))."
            return NotificationText("🔥 \(streak)!", body)
        case (.milestone, let wording):
            let end = wording == Wording.earnsToken ? "You earned a recovery token." : "Share your achievement!"
            return NotificationText("🔥 \(streak)!", "You and \(name) hit \(counted(values.count, "day", "days"))! \(end)")
        case (.streakBroken, Wording.accountDeleted):
            return NotificationText(
                "🔥 Your \(streak) has ended",
                "The account that you kept it with was deleted. You did nothing wrong."
            )
        case (.streakBroken, let wording):
            let end =
                switch wording {
                case Wording.isFinal: ""
                case Wording.hasNoToken: " Get a recovery token to save it!"
                default: " Use a recovery token to save it!"
                }
            return NotificationText("💔 Streak broken", "Your \(streak) with \(name) ended.\(end)")
        case (.streakRecovered, let wording):
            let body =
                switch wording {
                case Wording.byFriend: "\(name) used a recovery token: your \(streak) goes on."
                case Wording.byReader: "You used a recovery token: your \(streak) with \(name) goes on."
                case Wording.byFriendInAdvance: "\(name) used a recovery token: your \(streak) is safe for today."
                case Wording.byReaderInAdvance:
                    "You used a recovery token: your \(streak) with \(name) is safe for today."
                default: "Your \(streak) with \(name) goes on."
                }
            return NotificationText("💚 Streak saved", body)
        default:
            let time = counted(values.amount, "hour", "hours")
            guard values.amount > 0 else {
                let more = values.others > 0 ? " and \(values.others) more" : ""
                let body = "Your \(streak) with \(name)\(more) needed a snap by the end of that day."
                return NotificationText("⚠️ Streak at risk!", body)
            }
            guard values.others > 0 else {
                return NotificationText("⚠️ Streak at risk!", "Your \(streak) with \(name) expires in \(time)!")
            }
            return NotificationText(
                "⚠️ \(values.others + 1) streaks at risk!",
                "Your \(streak) with \(name) and \(values.others) more expire in \(time)!"
            )
        }
    }

    private static func solo(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText {
        let streak = "\(values.count)-day streak"
        switch kind {
        case .freezeUsed:
            let last = values.amount == 1 ? " This is your last freeze!" : ""
            let left = "You have \(counted(values.amount, "freeze", "freezes")) remaining.\(last)"
            return NotificationText("❄️ Streak Freeze Used!", "Your \(streak) is safe. \(left)")
        case .freezeReturned:
            let left = values.amount > 0 ? " You have \(counted(values.amount, "freeze", "freezes")) now." : ""
            return NotificationText("❄️ Your freeze is back!", "The day it was used on no longer needs it.\(left)")
        case .lastFreeze:
            return NotificationText("⚠️ This is your last freeze!", "Check in tomorrow to keep your \(streak) alive.")
        case .repairOffer where values.amount == 0:
            return NotificationText("💔 Your \(streak) is broken!", "The offer to repair it has ended.")
        case .repairOffer:
            return NotificationText(
                "💔 Your \(streak) is broken!",
                "Repair it within \(counted(values.amount, "hour", "hours"))?"
            )
        default: return NotificationText("👋 Welcome back!", "Resume your streak today!")
        }
    }

    private static func team(_ kind: NotificationKind, _ values: NotificationValues, _ name: String) -> NotificationText {
        let (team, streak) = (values.subject, "\(values.count)-day streak")
        switch kind {
        case .teamInvitation: return NotificationText("👥 Join \(team)", "\(name) invites you to keep a streak together.")
        case .teamJoined: return NotificationText("👥 \(team)", "\(name) joined your team.")
        case .teamAtRisk where values.wording == Wording.teamGrace: return grace(values)
        case .teamMilestone where values.wording == Wording.teamRestored: return teamRestored(values)
        case .teamBroken where values.wording == Wording.teamSavable: return savable(values)
        case .teamAtRisk where values.amount == 0:
            let body = "The team's \(streak) needed check-ins by the end of that day."
            return NotificationText("⚠️ \(team) needs you!", body)
        case .teamAtRisk:
            return NotificationText(
                "⚠️ \(team) needs you!",
                "The team's \(streak) expires in \(counted(values.amount, "hour", "hours"))."
            )
        case .teamBroken: return NotificationText("💔 \(team)", "The team's \(streak) ended. Start a new one today!")
        default: return NotificationText("🎉 \(team)", "The team reached a \(streak)!")
        }
    }

    private static func restored(_ values: NotificationValues) -> NotificationText {
        NotificationText("👋 Your account is back", EndedItems.inEnglish(values.ended))
    }

    private static func account(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText {
        switch kind {
        case .moderationWarning where values.wording == Wording.postRemoved:
            NotificationText("⚠️ Your post was removed", "A post of yours breaks our rules. The moderators have removed it.")
        case .reportUpdate where values.wording == Wording.postRestored:
            NotificationText("🛡️ Your post is visible again", "It was reported. The moderators have found nothing wrong with it.")
        case .moderationWarning:
            NotificationText(
                "⚠️ A warning from the moderators",
                "Something you posted or wrote was reported and breaks our rules. Next time your account may be suspended."
            )
        case .exportReady:
            NotificationText("📦 Your data is ready", "Download your export within 7 days. Then the file is deleted.")
        case .purchaseReceipt: NotificationText("🧾 Thank you!", "You bought \(values.subject). The receipt is in your e-mail.")
        case .reportUpdate:
            NotificationText(
                "🛡️ Your report",
                values.wording == Wording.noAction
                    ? "We looked at what you reported. It does not break our rules."
                    : "We looked at what you reported and acted on it. Thank you!"
            )
        default: NotificationText("🔔 It works", "Notifications reach this device.")
        }
    }
}
