/// The texts about streaks of one's own, and those of teams that are more than one (CI-2 … CI-5, TS-3, TS-4).
extension EnglishTexts {
    /// nil: a kind, or a wording of it, that is not about a streak of one's own.
    static func soloText(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText? {
        let streak = "\(values.count)-day streak"
        switch (kind, values.wording) {
        case (.milestone, Wording.solo):
            let unlock = unlock(values).map { "Unlock: \($0)" } ?? "Share your achievement!"
            return NotificationText(
                "🔥 Milestone!",
                "You hit \(counted(values.count, "day", "days")) of \(activity(values)). \(unlock)"
            )
        case (.streakAtRisk, Wording.solo):
            let time = counted(values.amount, "hour", "hours")
            guard values.amount > 0 else {
                let more = values.others > 0 ? " and \(values.others) more" : ""
                let body = "Your \(streak) of \(activity(values))\(more) needed you by the end of that day."
                return NotificationText("⚠️ Streak at risk!", body)
            }
            guard values.others > 0 else {
                return NotificationText("⚠️ \(time) left!", "Don't break your \(streak) of \(activity(values))!")
            }
            return NotificationText(
                "⚠️ \(values.others + 1) streaks at risk!",
                "Your \(streak) of \(activity(values)) and \(values.others) more expire in \(time)!"
            )
        case (.streakBroken, Wording.solo):
            return NotificationText("💔 Streak broken!", "Your \(streak) of \(activity(values)) has ended. Start a new one today!")
        case (.streakRecovered, Wording.solo):
            return NotificationText("🔥 Streak saved", "Your \(streak) of \(activity(values)) goes on.")
        case (.streakRecovered, Wording.soloProtected):
            return NotificationText(
                "☂️ Insurance used",
                "Your insurance kept your \(streak) of \(activity(values)). Continue it today!"
            )
        case (.streakRecovered, Wording.soloShielded):
            return NotificationText(
                "🛡️ Shield used",
                "Your shield kept your \(streak) of \(activity(values)). Continue it today!"
            )
        case (.lastFreeze, Wording.lastFreezeAhead):
            return NotificationText(
                "⚠️ Last freeze remaining!",
                "Check in today to keep it. Your \(streak) may need it another day."
            )
        case (.lastFreeze, Wording.noFreezeLeft):
            return NotificationText("⚠️ No freezes left!", "A freeze kept your \(streak). Missing another day will break it.")
        case (.streakReminder, _): return reminder(values)
        default: return nil
        }
    }

    private static func reminder(_ values: NotificationValues) -> NotificationText? {
        let (streak, milestone) = ("\(values.count)-day streak", "\(values.amount)-day milestone")
        let unlock = unlock(values).map { "Unlock \($0) 🔥" } ?? "Keep it up!"
        switch values.wording {
        case Wording.checkInMorning:
            return NotificationText("☀️ Good morning!", "Start your Day \(values.count + 1) streak check-in 🔥")
        case Wording.checkInAfternoon: return NotificationText("🔥 Halfway through the day!", "Have you checked in yet?")
        case Wording.checkInEvening: return NotificationText("🔥 \(streak)", "Remember your check-in tonight!")
        case Wording.freezeAhead:
            let freezes = counted(values.amount, "freeze", "freezes")
            return NotificationText("❄️ Remember to check in!", "You have \(freezes) available if you miss today.")
        case Wording.shieldAhead:
            return NotificationText("🛡️ Remember to check in!", "Your shield will be used for your \(streak) if you miss today.")
        case Wording.milestoneInTwoDays: return NotificationText("🎯 Just 2 days until your \(milestone)!", unlock)
        case Wording.milestoneTomorrow: return NotificationText("🎉 Tomorrow is Day \(values.amount)!", "Keep it up!")
        case Wording.milestoneToday:
            return NotificationText("🔥 Today is your Day \(values.amount)!", "Check in to celebrate!")
        case Wording.firstDayAfterBreak:
            return NotificationText("💔 Your \(streak) ended", "Start fresh today: day 1 is one check-in away.")
        case Wording.secondDayAfterBreak:
            let longest = counted(values.amount, "day", "days")
            return NotificationText("🔥 Start fresh today!", "Your longest streak was \(longest) - let's beat it!")
        case Wording.seventhDayAfterBreak:
            return NotificationText("💪 We miss you!", "Come back and rebuild your streak. You've got this!")
        default: return nil
        }
    }

    static func grace(_ values: NotificationValues) -> NotificationText {
        guard values.amount > 0 else {
            let body = "The second chance for the team's \(values.count)-day streak is over."
            return NotificationText("⏳ \(values.subject)", body)
        }
        return NotificationText(
            "⏳ \(values.subject) has a second chance!",
            "\(counted(values.amount, "hour", "hours")) left to save the team's \(values.count)-day streak."
        )
    }

    static func savable(_ values: NotificationValues) -> NotificationText {
        NotificationText(
            "💔 \(values.subject)",
            "The team's \(values.count)-day streak ended. Check-ins made in time still save it for "
                + "\(counted(values.amount, "hour", "hours"))."
        )
    }

    static func teamRestored(_ values: NotificationValues) -> NotificationText {
        NotificationText("💚 \(values.subject)", "The team's \(values.count)-day streak goes on.")
    }

    /// What the streak is of.
    private static func activity(_ values: NotificationValues) -> String {
        switch values.subject {
        case "daily_snap": "daily snaps"
        case "recipe_creation": "recipes"
        case "challenge_completion": "challenges"
        case "social_share": "sharing"
        case "healthy_eating": "healthy eating"
        default: "check-ins"
        }
    }

    /// What a check-in milestone opens that is worth a word.
    private static func unlock(_ values: NotificationValues) -> String? {
        guard values.subject.isEmpty || values.subject == "check_in" else { return nil }
        return switch max(values.count, values.amount) {
        case 30: "Gold Avatar Frame"
        case 50: "Gold Flame"
        case 100: "Diamond Flame"
        case 180: "Rainbow Flame"
        case 365: "Hall of Fame"
        default: nil
        }
    }
}
