/// The words of mails about Sign in with Apple.
extension MailText {
    static func englishAppleLinked(_ isPasswordRemoved: Bool) -> MailText {
        MailText(
            .english,
            isPasswordRemoved ? "Sign in with Apple replaces your password" : "Sign in with Apple was added",
            [
                "An Apple Account with this address signs in to your StreakSnap account from now on. All other devices were signed out.",
                isPasswordRemoved
                    ? "The password that the account had no longer works. If you want one, set a new one in the app (“New password”)."
                    : "Your password, which was confirmed, works as before.",
            ],
            protectInEnglish
        )
    }

    static func germanAppleLinked(_ isPasswordRemoved: Bool) -> MailText {
        MailText(
            .german,
            isPasswordRemoved ? "„Mit Apple anmelden“ ersetzt dein Passwort" : "„Mit Apple anmelden“ ist eingerichtet",
            [
                "Ein Apple Account mit dieser Adresse meldet sich ab jetzt bei deinem StreakSnap-Konto an. Alle anderen Geräte wurden abgemeldet.",
                isPasswordRemoved
                    ? "Das bisherige Passwort des Kontos gilt nicht mehr. Wenn du eines willst, setze in der App ein neues („Neues Passwort“)."
                    : "Dein Passwort, das bestätigt wurde, gilt weiter.",
            ],
            protectInGerman
        )
    }
}
