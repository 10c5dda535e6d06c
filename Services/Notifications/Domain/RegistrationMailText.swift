/// The words of mails that answer a registration where the app does not (`auth.private-registration`).
extension MailText {
    static func englishRegistration(_ link: String) -> MailText {
        MailText(
            .english,
            "Complete your registration",
            [
                "Welcome to StreakSnap! The link makes your account. Then sign in with the password that you have chosen in the app.",
                "It works once, for 24 hours. Use it only if you have just registered: else another person knows the password.",
            ],
            action: ("Make my account", link),
            "If you did not register, ignore this mail: without the link there is no account."
        )
    }

    static func englishAccountExists(_ link: String) -> MailText {
        MailText(
            .english,
            "You have an account already",
            [
                "This address was used to register at StreakSnap, and it has an account: sign in with the password of that account.",
                "If you do not know it any more, set a new one. The link works once, for one hour. With it all devices are signed out.",
            ],
            action: ("Set a new password", link),
            ignoreInEnglish
        )
    }

    static func germanRegistration(_ link: String) -> MailText {
        MailText(
            .german,
            "Schließe deine Registrierung ab",
            [
                "Willkommen bei StreakSnap! Der Link legt dein Konto an. Melde dich danach mit dem Passwort an, das du in der App gewählt hast.",
                "Er gilt einmal und 24 Stunden. Benutze ihn nur, wenn du dich eben registriert hast: Sonst kennt eine andere Person das Passwort.",
            ],
            action: ("Konto anlegen", link),
            "Wenn du dich nicht registriert hast, ignoriere diese Mail: Ohne den Link gibt es kein Konto."
        )
    }

    static func germanAccountExists(_ link: String) -> MailText {
        MailText(
            .german,
            "Du hast schon ein Konto",
            [
                "Mit dieser Adresse wurde eine Registrierung bei StreakSnap versucht, und sie hat schon ein Konto: Melde dich mit dessen Passwort an.",
                "Wenn du es nicht mehr weißt, setze ein neues. Der Link gilt einmal und eine Stunde. Dabei werden alle Geräte abgemeldet.",
            ],
            action: ("Neues Passwort setzen", link),
            ignoreInGerman
        )
    }
}
