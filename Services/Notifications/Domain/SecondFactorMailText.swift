/// The words of mails about the second factor.
extension MailText {
    static func englishSecondFactor(_ content: MailContent) -> MailText {
        switch content {
        case .recoveryCodeUsed(let left):
            return MailText(
                .english,
                "A recovery code was used",
                [
                    "A recovery code of your StreakSnap account was used instead of a code of your authenticator app.",
                    left == 0
                        ? "It was the last one. Set up your authenticator app anew to get others."
                        : "You have \(left) left. You get others when you set up your authenticator app anew.",
                ],
                protectInEnglish
            )
        case .secondFactorRemoved:
            return MailText(
                .english,
                "Your second factor was removed",
                [
                    "To sign in to your StreakSnap account, no code of an authenticator app is needed any more.",
                    "All devices were signed out.",
                ],
                protectInEnglish
            )
        default:
            return MailText(
                .english,
                "A second factor was set up",
                [
                    "To sign in to your StreakSnap account, a code of the authenticator app that was set up is now needed.",
                    "Other devices were signed out. Codes of an app that was set up before, and its recovery codes, no longer work.",
                ],
                protectInEnglish
            )
        }
    }

    static func germanSecondFactor(_ content: MailContent) -> MailText {
        switch content {
        case .recoveryCodeUsed(let left):
            return MailText(
                .german,
                "Ein Wiederherstellungscode wurde benutzt",
                [
                    "Bei deinem StreakSnap-Konto wurde ein Wiederherstellungscode statt eines Codes deiner Authenticator-App benutzt.",
                    left == 0
                        ? "Es war der letzte. Richte deine Authenticator-App neu ein, um andere zu bekommen."
                        : "Du hast noch \(left). Andere bekommst du, wenn du deine Authenticator-App neu einrichtest.",
                ],
                protectInGerman
            )
        case .secondFactorRemoved:
            return MailText(
                .german,
                "Dein zweiter Faktor wurde entfernt",
                [
                    "Für die Anmeldung bei deinem StreakSnap-Konto wird kein Code einer Authenticator-App mehr verlangt.",
                    "Alle Geräte wurden abgemeldet.",
                ],
                protectInGerman
            )
        default:
            return MailText(
                .german,
                "Ein zweiter Faktor wurde eingerichtet",
                [
                    "Für die Anmeldung bei deinem StreakSnap-Konto wird jetzt ein Code der eingerichteten Authenticator-App verlangt.",
                    "Andere Geräte wurden abgemeldet. Codes einer früher eingerichteten App und deren Wiederherstellungscodes gelten nicht mehr.",
                ],
                protectInGerman
            )
        }
    }
}
