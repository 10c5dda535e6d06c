/// The words of a page, plain text that needs no escaping.
struct BrowserTexts: Sendable {
    let language: String
    let title: String
    let button: String
    /// The label of the field for a password; nil when there is none.
    let field: String?
    /// What is shown for each answer: `OK`, an `error.code`, or `OTHER`.
    let answers: [(code: String, text: String)]
    let withoutScript: String

    static func english(_ purpose: BrowserPage.Purpose) -> BrowserTexts {
        let isReset = purpose == .passwordReset
        return BrowserTexts(
            language: "en",
            title: isReset ? "Set a new password" : "Confirm your e-mail address",
            button: isReset ? "Set password" : "Confirm",
            field: isReset ? "New password, at least 8 characters" : nil,
            answers: [
                (
                    "OK",
                    isReset
                        ? "Your new password is set. Sign in with it in the app."
                        : "Your address is confirmed. You can close this page."
                ),
                ("EMAIL_TOKEN_INVALID", "This link is not valid. Check that it is complete."),
                ("EMAIL_TOKEN_USED", "This link was used before."),
                ("EMAIL_TOKEN_EXPIRED", "This link is too old. Ask for a new one in the app."),
                ("EMAIL_TOKEN_SUPERSEDED", "This link no longer works: the password or the address was changed since."),
                ("ACCOUNT_SCHEDULED_FOR_DELETION", "This account is deleted."),
                ("EMAIL_TAKEN", "Another account has this address."),
                ("VALIDATION_ERROR", isReset ? "The password must have 8 to 72 bytes." : "This link is not valid."),
                ("RATE_LIMITED", "Too many tries. Wait a while and try again."),
                ("OTHER", "That did not work. Try again."),
            ],
            withoutScript: "This page needs JavaScript. Or open the link on a phone with the app."
        )
    }

    static func german(_ purpose: BrowserPage.Purpose) -> BrowserTexts {
        let isReset = purpose == .passwordReset
        return BrowserTexts(
            language: "de",
            title: isReset ? "Neues Passwort setzen" : "E-Mail-Adresse bestätigen",
            button: isReset ? "Passwort setzen" : "Bestätigen",
            field: isReset ? "Neues Passwort, mindestens 8 Zeichen" : nil,
            answers: [
                (
                    "OK",
                    isReset
                        ? "Dein neues Passwort gilt. Melde dich damit in der App an."
                        : "Deine Adresse ist bestätigt. Du kannst die Seite schließen."
                ),
                ("EMAIL_TOKEN_INVALID", "Dieser Link ist ungültig. Prüfe, ob er vollständig ist."),
                ("EMAIL_TOKEN_USED", "Dieser Link wurde schon benutzt."),
                ("EMAIL_TOKEN_EXPIRED", "Dieser Link ist zu alt. Fordere in der App einen neuen an."),
                ("EMAIL_TOKEN_SUPERSEDED", "Dieser Link gilt nicht mehr: Passwort oder Adresse wurden seither geändert."),
                ("ACCOUNT_SCHEDULED_FOR_DELETION", "Dieses Konto ist gelöscht."),
                ("EMAIL_TAKEN", "Ein anderes Konto hat diese Adresse."),
                ("VALIDATION_ERROR", isReset ? "Das Passwort muss 8 bis 72 Bytes haben." : "Dieser Link ist ungültig."),
                ("RATE_LIMITED", "Zu viele Versuche. Warte etwas und versuche es noch einmal."),
                ("OTHER", "Das hat nicht geklappt. Versuche es noch einmal."),
            ],
            withoutScript: "Diese Seite braucht JavaScript. Oder öffne den Link auf einem Telefon mit der App."
        )
    }
}
