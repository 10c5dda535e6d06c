/// The texts about what a user has earned once, for ever (CI-5, MS-7). Badges and unlocks keep the names that the app shows.
extension EnglishTexts {
    /// nil: a kind, or a wording of it, that is not about that.
    static func rewardText(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText? {
        switch (kind, values.wording) {
        case (.milestone, Wording.badge): NotificationText("\(values.emoji) New badge!", "You earned \(values.subject).")
        case (.milestone, Wording.unlock): NotificationText("🔓 Unlocked!", "\(values.subject) is yours now.")
        case (.milestone, Wording.achievement):
            NotificationText("🏆 Achievement!", "You earned \(achievement(values.subject)).")
        default: nil
        }
    }

    private static func achievement(_ id: String) -> String {
        switch id {
        case "7_day_warrior": "7 Day Warrior"
        case "30_day_legend": "30 Day Legend"
        case "100_day_immortal": "100 Day Immortal"
        case "first_recovery": "First Recovery"
        case "prompt_master": "Prompt Master"
        default: "a new one"
        }
    }
}
