/// The texts about habits (HA-5, HA-11, HA-18).
extension GermanTexts {
    /// nil: a kind, or a wording of it, that is not about habits.
    static func habitText(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText? {
        switch (kind, values.wording) {
        case (.habitReminder, Wording.habitCompleted): return NotificationText("Gut gemacht!", "\(values.subject) erledigt ✓")
        case (.habitReminder, Wording.habitSnoozed): return NotificationText(values.subject, "Neue Erinnerung in 1 Stunde")
        case (.habitReminder, _): return NotificationText(values.subject, "Zeit für deine Gewohnheit!")
        case (.streakReminder, _):
            return NotificationText(
                "Lass deinen Streak nicht reißen!",
                "Heute \(values.amount == 1 ? "ist" : "sind") noch \(counted(values.amount, "Gewohnheit", "Gewohnheiten")) offen"
            )
        case (.milestone, Wording.habitDays), (.milestone, Wording.habitWeeks):
            let length =
                values.wording == Wording.habitWeeks
                ? counted(values.count, "Woche", "Wochen") : counted(values.count, "Tag", "Tagen")
            return NotificationText("🎉 Glückwunsch!", "\(values.subject): Du hast einen Streak von \(length) erreicht!")
        case (.motivation, _):
            let (title, body) = motivations[Int(values.count.magnitude) % motivations.count]
            return NotificationText(title, body)
        default: return nil
        }
    }

    /// As many in each language.
    private static let motivations = [
        ("Kleine Schritte führen zu großen Veränderungen", "Wähle eine Gewohnheit und mach den Schritt von heute."),
        ("Du baust etwas Großes auf", "Jeder Tag, an dem du es tust, macht es stärker."),
        ("Beständigkeit zählt", "Noch ein Tag, und deine Streaks wachsen."),
        ("Fortschritt statt Perfektion", "Heute ein wenig ist besser als irgendwann viel."),
        ("Fang da an, wo du stehst", "Tu, was du kannst, mit dem, was du hast."),
        ("Die beste Zeit ist jetzt", "Deine Gewohnheiten für heute sind bereit."),
        ("Du wirst, was du wiederholst", "Wiederhole heute etwas Gutes."),
        ("Mach weiter", "Du bist weiter gekommen, als du denkst."),
        ("Ein Haken ist der Anfang", "Welche Gewohnheit ist heute die erste?"),
        ("Sei stolz auf das, was du geschafft hast", "Und dann mach das Nächste."),
    ]
    static var motivationCount: Int { motivations.count }
}
