/// The texts about streaks of one's own, and those of teams that are more than one, in German.
extension GermanTexts {
    /// nil: a kind, or a wording of it, that is not about a streak of one's own.
    static func soloText(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText? {
        let streak = "Streak von \(counted(values.count, "Tag", "Tagen"))"
        switch (kind, values.wording) {
        case (.milestone, Wording.solo):
            let unlock = unlock(values).map { "Freigeschaltet: \($0)" } ?? "Teile deinen Erfolg!"
            let days = counted(values.count, "Tag", "Tage")
            return NotificationText("🔥 Meilenstein!", "\(days) \(activity(values)) geschafft. \(unlock)")
        case (.streakAtRisk, Wording.solo):
            let time = counted(values.amount, "Stunde", "Stunden")
            guard values.amount > 0 else {
                let needs = values.others > 0 ? " und \(counted(values.others, "weiterer", "weitere")) brauchten" : " brauchte"
                let body = "Dein \(streak) (\(activity(values)))\(needs) dich bis zum Ende jenes Tages."
                return NotificationText("⚠️ Streak in Gefahr!", body)
            }
            guard values.others > 0 else {
                return NotificationText("⚠️ Noch \(time)!", "Lass deinen \(streak) (\(activity(values))) nicht reißen!")
            }
            return NotificationText(
                "⚠️ \(values.others + 1) Streaks in Gefahr!",
                "Dein \(streak) (\(activity(values))) und \(counted(values.others, "weiterer", "weitere")) laufen in \(time) ab!"
            )
        case (.streakBroken, Wording.solo):
            return NotificationText(
                "💔 Streak gerissen!",
                "Dein \(streak) (\(activity(values))) ist zu Ende. Beginne heute einen neuen!"
            )
        case (.streakRecovered, Wording.solo):
            return NotificationText("🔥 Streak gerettet", "Dein \(streak) (\(activity(values))) geht weiter.")
        case (.streakRecovered, Wording.soloProtected):
            return NotificationText(
                "☂️ Versicherung genutzt",
                "Deine Versicherung hat deinen \(streak) (\(activity(values))) gehalten. Setze ihn heute fort!"
            )
        case (.streakRecovered, Wording.soloShielded):
            return NotificationText(
                "🛡️ Schild genutzt",
                "Dein Schild hat deinen \(streak) (\(activity(values))) gehalten. Setze ihn heute fort!"
            )
        case (.lastFreeze, Wording.lastFreezeAhead):
            return NotificationText(
                "⚠️ Nur noch ein Freeze!",
                "Check heute ein, dann bleibt er deinem \(streak) für einen anderen Tag."
            )
        case (.lastFreeze, Wording.noFreezeLeft):
            return NotificationText(
                "⚠️ Kein Freeze mehr!",
                "Ein Freeze hat deinen \(streak) gehalten. Fehlt noch ein Tag, reißt er."
            )
        case (.streakReminder, _): return reminder(values)
        default: return nil
        }
    }

    private static func reminder(_ values: NotificationValues) -> NotificationText? {
        let streak = "Streak von \(counted(values.count, "Tag", "Tagen"))"
        let unlock = unlock(values).map { "Schalte frei: \($0) 🔥" } ?? "Weiter so!"
        switch values.wording {
        case Wording.checkInMorning:
            return NotificationText("☀️ Guten Morgen!", "Starte deinen Check-in für Tag \(values.count + 1) 🔥")
        case Wording.checkInAfternoon: return NotificationText("🔥 Der halbe Tag ist um!", "Hast du schon eingecheckt?")
        case Wording.checkInEvening: return NotificationText("🔥 \(streak)", "Vergiss heute Abend deinen Check-in nicht!")
        case Wording.freezeAhead:
            let freezes = counted(values.amount, "Freeze", "Freezes")
            return NotificationText("❄️ Vergiss deinen Check-in nicht!", "Du hast noch \(freezes), falls du heute fehlst.")
        case Wording.shieldAhead:
            let body = "Fehlst du heute, hält dein Schild deinen \(streak) und ist dann verbraucht."
            return NotificationText("🛡️ Vergiss deinen Check-in nicht!", body)
        case Wording.milestoneInTwoDays: return NotificationText("🎯 Noch 2 Tage bis Tag \(values.amount)!", unlock)
        case Wording.milestoneTomorrow: return NotificationText("🎉 Morgen ist Tag \(values.amount)!", "Weiter so!")
        case Wording.milestoneToday: return NotificationText("🔥 Heute ist dein Tag \(values.amount)!", "Check ein und feiere!")
        case Wording.firstDayAfterBreak:
            return NotificationText("💔 Dein \(streak) ist zu Ende", "Fang heute neu an: Tag 1 ist nur einen Check-in entfernt.")
        case Wording.secondDayAfterBreak:
            let longest = counted(values.amount, "Tag", "Tage")
            return NotificationText("🔥 Fang heute neu an!", "Dein längster Streak war \(longest) lang – den schlagen wir!")
        case Wording.seventhDayAfterBreak:
            return NotificationText("💪 Wir vermissen dich!", "Komm zurück und bau deinen Streak wieder auf. Du schaffst das!")
        default: return nil
        }
    }

    static func grace(_ values: NotificationValues) -> NotificationText {
        guard values.amount > 0 else {
            let body = "Die zweite Chance für den Streak des Teams von \(counted(values.count, "Tag", "Tagen")) ist vorbei."
            return NotificationText("⏳ \(values.subject)", body)
        }
        return NotificationText(
            "⏳ \(values.subject) hat eine zweite Chance!",
            "Noch \(counted(values.amount, "Stunde", "Stunden")), um den Streak des Teams zu retten: "
                + "\(counted(values.count, "Tag", "Tage"))."
        )
    }

    static func savable(_ values: NotificationValues) -> NotificationText {
        NotificationText(
            "💔 \(values.subject)",
            "Der Streak des Teams von \(counted(values.count, "Tag", "Tagen")) ist zu Ende. Rechtzeitige Check-ins retten ihn noch "
                + "\(counted(values.amount, "Stunde", "Stunden")) lang."
        )
    }

    static func teamRestored(_ values: NotificationValues) -> NotificationText {
        NotificationText("💚 \(values.subject)", "Der Streak des Teams von \(counted(values.count, "Tag", "Tagen")) geht weiter.")
    }

    /// What the streak is of.
    private static func activity(_ values: NotificationValues) -> String {
        switch values.subject {
        case "daily_snap": "tägliche Snaps"
        case "recipe_creation": "Rezepte"
        case "challenge_completion": "Challenges"
        case "social_share": "Teilen"
        case "healthy_eating": "gesundes Essen"
        default: "Check-ins"
        }
    }

    /// What a check-in milestone opens that is worth a word.
    private static func unlock(_ values: NotificationValues) -> String? {
        guard values.subject.isEmpty || values.subject == "check_in" else { return nil }
        return switch max(values.count, values.amount) {
        case 30: "goldener Rahmen"
        case 50: "goldene Flamme"
        case 100: "Diamantflamme"
        case 180: "Regenbogenflamme"
        case 365: "Hall of Fame"
        default: nil
        }
    }
}
