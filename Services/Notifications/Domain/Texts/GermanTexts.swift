/// The texts in German.
enum GermanTexts: Texts {
    static func text(_ kind: NotificationKind, _ values: NotificationValues, name: String?) -> NotificationText {
        let name = name ?? "Dein Freund"
        if let text = soloText(kind, values) ?? habitText(kind, values) ?? rewardText(kind, values) { return text }
        switch kind {
        case .friendRequest: return NotificationText("👋 Neue Freundschaftsanfrage", "\(name) will einen Streak mit dir beginnen!")
        case .friendAccepted:
            return NotificationText("🤝 Ihr seid jetzt Freunde", "\(name) hat deine Anfrage angenommen. Poste deinen ersten Snap!")
        case .nudge:
            return NotificationText("👉 \(name) stupst dich an", "\(name) wartet auf deinen Snap. Halte den Streak am Leben 🔥")
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
            ? "\(name) wartet!" : "\(name) und \(counted(values.others, "anderer", "andere")) warten!"
        let left =
            values.amount > 0
            ? "Noch \(counted(values.amount, "Minute", "Minuten")) für deinen Snap" : "Dein Zeitfenster für den Snap ist zu"
        let title = kind == .dailyWindow ? "📸 Zeit für einen Snap!" : "⏰ \(left)"
        return NotificationText(title, "\(values.emoji) \(values.subject) — \(waiting)")
    }

    private static func streak(_ kind: NotificationKind, _ values: NotificationValues, _ name: String) -> NotificationText {
        let days = counted(values.count, "Tag", "Tagen")
        let streak = "Streak von \(days)"
        switch (kind, values.wording) {
        case (.friendPosted, Wording.dateCompleted):
            return NotificationText("🔥 \(streak)", "\(name) hat einen Snap gesendet: Heute zählt für euch beide.")
        case (.friendPosted, _):
            return NotificationText("📸 \(name) hat gepostet", "\(name) hat einen Snap in eurem Streak gesendet 🔥 Du bist dran!")
        case (.milestone, Wording.tokenOnly):
            let body = "Du und \(name) habt mit \(counted(values.count, "Tag", "Tagen")) je ein Rettungs-Token verdient."
            return NotificationText("🔥 \(streak)!", body)
        case (.milestone, let wording):
            let end =
                wording == Wording.earnsToken ? "Du hast ein Rettungs-Token verdient." : "Teile deinen Erfolg!"
            return NotificationText(
                "🔥 \(streak)!",
                "Du und \(name) habt \(counted(values.count, "Tag", "Tage")) geschafft! \(end)"
            )
        case (.streakBroken, Wording.accountDeleted):
            return NotificationText(
                "🔥 Dein \(streak) ist zu Ende",
                "Das Konto, mit dem du ihn hattest, wurde gelöscht. Du hast nichts falsch gemacht."
            )
        case (.streakBroken, let wording):
            let end =
                switch wording {
                case Wording.isFinal: ""
                case Wording.hasNoToken: " Hol dir ein Rettungs-Token, um ihn zu retten!"
                default: " Rette ihn mit einem Rettungs-Token!"
                }
            return NotificationText("💔 Streak gerissen", "Dein \(streak) mit \(name) ist zu Ende.\(end)")
        case (.streakRecovered, let wording):
            let body =
                switch wording {
                case Wording.byFriend: "\(name) hat ein Rettungs-Token eingesetzt: Euer \(streak) geht weiter."
                case Wording.byReader: "Du hast ein Rettungs-Token eingesetzt: Dein \(streak) mit \(name) geht weiter."
                case Wording.byFriendInAdvance:
                    "\(name) hat ein Rettungs-Token eingesetzt: Euer \(streak) ist für heute sicher."
                case Wording.byReaderInAdvance:
                    "Du hast ein Rettungs-Token eingesetzt: Dein \(streak) mit \(name) ist für heute sicher."
                default: "Dein \(streak) mit \(name) geht weiter."
                }
            return NotificationText("💚 Streak gerettet", body)
        default:
            let time = counted(values.amount, "Stunde", "Stunden")
            guard values.amount > 0 else {
                let needs = values.others > 0 ? " und \(counted(values.others, "weiterer", "weitere")) brauchten" : " brauchte"
                let body = "Dein \(streak) mit \(name)\(needs) bis zum Ende jenes Tages einen Snap."
                return NotificationText("⚠️ Streak in Gefahr!", body)
            }
            guard values.others > 0 else {
                return NotificationText("⚠️ Streak in Gefahr!", "Dein \(streak) mit \(name) läuft in \(time) ab!")
            }
            return NotificationText(
                "⚠️ \(values.others + 1) Streaks in Gefahr!",
                "Dein \(streak) mit \(name) und \(counted(values.others, "weiterer", "weitere")) laufen in \(time) ab!"
            )
        }
    }

    private static func solo(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText {
        let streak = "Streak von \(counted(values.count, "Tag", "Tagen"))"
        switch kind {
        case .freezeUsed:
            let last = values.amount == 1 ? " Das ist dein letzter Freeze!" : ""
            let left = "Du hast noch \(counted(values.amount, "Freeze", "Freezes")).\(last)"
            return NotificationText("❄️ Streak-Freeze eingesetzt!", "Dein \(streak) ist sicher. \(left)")
        case .freezeReturned:
            let left = values.amount > 0 ? " Du hast jetzt \(counted(values.amount, "Freeze", "Freezes"))." : ""
            let body = "Der Tag, für den er eingesetzt war, braucht ihn nicht mehr.\(left)"
            return NotificationText("❄️ Dein Freeze ist zurück!", body)
        case .lastFreeze:
            return NotificationText("⚠️ Das ist dein letzter Freeze!", "Check morgen ein, damit dein \(streak) weitergeht.")
        case .repairOffer where values.amount == 0:
            return NotificationText("💔 Dein \(streak) ist gerissen!", "Das Angebot, ihn zu reparieren, ist vorbei.")
        case .repairOffer:
            return NotificationText(
                "💔 Dein \(streak) ist gerissen!",
                "Innerhalb von \(counted(values.amount, "Stunde", "Stunden")) reparieren?"
            )
        default: return NotificationText("👋 Willkommen zurück!", "Setze deinen Streak heute fort!")
        }
    }

    private static func team(_ kind: NotificationKind, _ values: NotificationValues, _ name: String) -> NotificationText {
        let (team, streak) = (values.subject, "Streak von \(counted(values.count, "Tag", "Tagen"))")
        switch kind {
        case .teamInvitation:
            return NotificationText("👥 Mach mit bei \(team)", "\(name) lädt dich zu einem gemeinsamen Streak ein.")
        case .teamJoined: return NotificationText("👥 \(team)", "\(name) ist jetzt in deinem Team.")
        case .teamAtRisk where values.wording == Wording.teamGrace: return grace(values)
        case .teamMilestone where values.wording == Wording.teamRestored: return teamRestored(values)
        case .teamBroken where values.wording == Wording.teamSavable: return savable(values)
        case .teamAtRisk where values.amount == 0:
            let body = "Der \(streak) des Teams brauchte Check-ins bis zum Ende jenes Tages."
            return NotificationText("⚠️ \(team) braucht dich!", body)
        case .teamAtRisk:
            return NotificationText(
                "⚠️ \(team) braucht dich!",
                "Der \(streak) des Teams läuft in \(counted(values.amount, "Stunde", "Stunden")) ab."
            )
        case .teamBroken: return NotificationText("💔 \(team)", "Der \(streak) des Teams ist zu Ende. Beginnt heute einen neuen!")
        default: return NotificationText("🎉 \(team)", "Das Team hat einen \(streak) erreicht!")
        }
    }

    private static func restored(_ values: NotificationValues) -> NotificationText {
        NotificationText("👋 Dein Konto ist wieder da", EndedItems.inGerman(values.ended))
    }

    private static func account(_ kind: NotificationKind, _ values: NotificationValues) -> NotificationText {
        switch kind {
        case .moderationWarning where values.wording == Wording.postRemoved:
            NotificationText("⚠️ Dein Post wurde entfernt", "Er verstößt gegen unsere Regeln. Die Moderation hat ihn entfernt.")
        case .reportUpdate where values.wording == Wording.postRestored:
            NotificationText("🛡️ Dein Post ist wieder zu sehen", "Er wurde gemeldet. Die Moderation hat nichts daran auszusetzen.")
        case .moderationWarning:
            NotificationText(
                "⚠️ Eine Verwarnung der Moderation",
                "Etwas, das du gepostet oder geschrieben hast, wurde gemeldet und verstößt gegen unsere Regeln. "
                    + "Beim nächsten Mal kann dein Konto gesperrt werden."
            )
        case .exportReady:
            NotificationText(
                "📦 Deine Daten sind bereit",
                "Lade deinen Export innerhalb von 7 Tagen herunter. Dann wird er gelöscht."
            )
        case .purchaseReceipt:
            NotificationText(
                "🧾 Danke!",
                "Gekauft: \(GermanProducts.name(values.subject)). Die Quittung kommt per E-Mail."
            )
        case .reportUpdate:
            NotificationText(
                "🛡️ Deine Meldung",
                values.wording == Wording.noAction
                    ? "Wir haben geprüft, was du gemeldet hast. Es verstößt nicht gegen unsere Regeln."
                    : "Wir haben geprüft, was du gemeldet hast, und gehandelt. Danke!"
            )
        default: NotificationText("🔔 Es klappt", "Benachrichtigungen erreichen dieses Gerät.")
        }
    }
}
