/// The texts about what a user has earned once, for ever, in German. Badges and unlocks keep the names that the app shows.
extension GermanTexts {
    /// nil: a kind, or a wording of it, that is not about that.
    static func rewardText(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText? {
        switch (kind, values.wording) {
        case (.milestone, Wording.badge):
            NotificationText("\(values.emoji) Neues Abzeichen!", "Du hast „\(values.subject)“ verdient.")
        case (.milestone, Wording.unlock): NotificationText("🔓 Freigeschaltet!", "„\(values.subject)“ gehört jetzt dir.")
        case (.milestone, Wording.achievement):
            NotificationText("🏆 Erfolg erreicht!", "Du hast \(achievement(values.subject)) geschafft.")
        default: nil
        }
    }

    private static func achievement(_ id: String) -> String {
        switch id {
        case "7_day_warrior": "„7-Tage-Krieger“"
        case "30_day_legend": "„30-Tage-Legende“"
        case "100_day_immortal": "„Unsterblich nach 100 Tagen“"
        case "first_recovery": "„Erste Rettung“"
        case "prompt_master": "„Prompt-Meister“"
        default: "etwas Neues"
        }
    }
}
