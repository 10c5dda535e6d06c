internal import Kernel

/// The words of a mail. All texts in all languages are here, and only here.
///
/// None holds a name that a user has chosen: by registering a stranger's address one could send the stranger any words.
public struct MailText: Hashable, Sendable {
    /// A button, and the address behind it.
    public struct Action: Hashable, Sendable {
        public let label: String
        public let link: String
    }

    /// A line of a receipt.
    public struct Fact: Hashable, Sendable {
        public let label: String
        public let value: String
    }

    public let language: MailLanguage
    public let subject: String
    public let paragraphs: [String]
    public let facts: [Fact]
    public let action: Action?
    /// What to do about a mail that was not expected.
    public let footnote: String

    /// The words for a content.
    public init(_ content: MailContent, _ language: MailLanguage) {
        switch language {
        case .english: self = Self.english(content)
        case .german: self = Self.german(content)
        }
    }

    init(
        _ language: MailLanguage,
        _ subject: String,
        _ paragraphs: [String],
        facts: [(label: String, value: String)] = [],
        action: (label: String, link: String)? = nil,
        _ footnote: String
    ) {
        self.language = language
        self.subject = Self.oneLine(subject)
        self.paragraphs = paragraphs.map(Self.oneLine)
        self.facts = facts.map { Fact(label: $0.label, value: Self.oneLine($0.value)) }
        self.action = action.map { Action(label: $0.label, link: Self.oneLine($0.link)) }
        self.footnote = footnote
    }

    /// Without line breaks and other control characters: values of other services are in it.
    private static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 || (127...159).contains($0.value) ? " " : $0 }))
    }

    static let ignoreInEnglish = "If you did not ask for this, ignore this mail: nothing changes."
    static let protectInEnglish =
        "If this was not you, set a new password in the app at once (“New password”), and write to our support."
    static let ignoreInGerman = "Wenn du das nicht angefordert hast, ignoriere diese Mail: Es ändert sich nichts."
    static let protectInGerman =
        "Wenn du das nicht warst, setze sofort in der App ein neues Passwort („Neues Passwort“) und schreibe unserem Support."

    private static func english(_ content: MailContent) -> MailText {
        switch content {
        case .verification(let link):
            return MailText(
                .english,
                "Confirm your e-mail address",
                ["Welcome to StreakSnap! Confirm that this is your address. The link works for 24 hours."],
                action: ("Confirm address", link),
                "If you did not register, ignore this mail: without the confirmation the address is not yours to us."
            )
        case .passwordReset(let link):
            return MailText(
                .english,
                "Set a new password",
                ["A new password was asked for. The link works once, for one hour. With it all devices are signed out."],
                action: ("Set a new password", link),
                ignoreInEnglish
            )
        case .emailChangeConfirm(let link):
            return MailText(
                .english,
                "Confirm your new e-mail address",
                ["This address is to become that of a StreakSnap account. Confirm it. The link works for 24 hours."],
                action: ("Confirm address", link),
                ignoreInEnglish
            )
        case .emailChangeNotice(let address):
            return MailText(
                .english,
                "Your e-mail address was changed",
                ["Your StreakSnap account now has the address \(address). Mails no longer come here."],
                "If this was not you, write to our support at once."
            )
        case .passwordChanged:
            return MailText(
                .english,
                "Your password was changed",
                ["The password of your StreakSnap account was changed. Other devices were signed out."],
                protectInEnglish
            )
        case .deletionScheduled(let at):
            return MailText(
                .english,
                "Your account will be deleted",
                [
                    "You have deleted your StreakSnap account. No other user sees it any more.",
                    "On \(MailLanguage.english.date(at)) (UTC) everything is removed for good. Until then our support can restore it.",
                ],
                "If this was not you, write to our support at once."
            )
        case .deletionUndone(let ended): return englishDeletionUndone(EndedItems.inEnglish(ended))
        case .purchaseReceipt(let product, let price, let order, let at):
            return englishReceipt(of: product, price: price, order: order, at: at)
        case .secondFactorEnrolled, .secondFactorRemoved, .recoveryCodeUsed:
            return englishSecondFactor(content)
        case .appleLinked(let isPasswordRemoved):
            return englishAppleLinked(isPasswordRemoved)
        case .registration(let link): return englishRegistration(link)
        case .accountExists(let link): return englishAccountExists(link)
        }
    }

    private static func englishDeletionUndone(_ ended: String) -> MailText {
        MailText(
            .english,
            "Your account is back",
            ["Your StreakSnap account was restored. It will not be deleted.", ended],
            protectInEnglish
        )
    }

    private static func englishReceipt(of product: String, price: String, order: String, at: Instant) -> MailText {
        MailText(
            .english,
            "Your receipt",
            ["Thank you for your purchase."],
            facts: [("Product", product), ("Price", price), ("Order", order), ("Date", MailLanguage.english.date(at))],
            "The store in which you paid handles refunds."
        )
    }

    private static func german(_ content: MailContent) -> MailText {
        switch content {
        case .verification(let link):
            return MailText(
                .german,
                "Bestätige deine E-Mail-Adresse",
                ["Willkommen bei StreakSnap! Bestätige, dass das deine Adresse ist. Der Link gilt 24 Stunden."],
                action: ("Adresse bestätigen", link),
                "Wenn du dich nicht registriert hast, ignoriere diese Mail: Ohne Bestätigung gilt die Adresse nicht als deine."
            )
        case .passwordReset(let link):
            return MailText(
                .german,
                "Setze ein neues Passwort",
                [
                    "Ein neues Passwort wurde angefordert. Der Link gilt einmal und eine Stunde. Dabei werden alle Geräte abgemeldet."
                ],
                action: ("Neues Passwort setzen", link),
                ignoreInGerman
            )
        case .emailChangeConfirm(let link):
            return MailText(
                .german,
                "Bestätige deine neue E-Mail-Adresse",
                ["Diese Adresse soll zu einem StreakSnap-Konto gehören. Bestätige sie. Der Link gilt 24 Stunden."],
                action: ("Adresse bestätigen", link),
                ignoreInGerman
            )
        case .emailChangeNotice(let address):
            return MailText(
                .german,
                "Deine E-Mail-Adresse wurde geändert",
                ["Dein StreakSnap-Konto hat jetzt die Adresse \(address). Mails kommen nicht mehr hierher."],
                "Wenn du das nicht warst, schreibe sofort unserem Support."
            )
        case .passwordChanged:
            return MailText(
                .german,
                "Dein Passwort wurde geändert",
                ["Das Passwort deines StreakSnap-Kontos wurde geändert. Andere Geräte wurden abgemeldet."],
                protectInGerman
            )
        case .deletionScheduled(let at):
            return MailText(
                .german,
                "Dein Konto wird gelöscht",
                [
                    "Du hast dein StreakSnap-Konto gelöscht. Es ist für niemanden mehr sichtbar.",
                    "Am \(MailLanguage.german.date(at)) (UTC) wird alles endgültig entfernt. Bis dahin kann unser Support es wiederherstellen.",
                ],
                "Wenn du das nicht warst, schreibe sofort unserem Support."
            )
        case .deletionUndone(let ended): return germanDeletionUndone(EndedItems.inGerman(ended))
        case .purchaseReceipt(let product, let price, let order, let at):
            return germanReceipt(of: product, price: price, order: order, at: at)
        case .secondFactorEnrolled, .secondFactorRemoved, .recoveryCodeUsed:
            return germanSecondFactor(content)
        case .appleLinked(let isPasswordRemoved):
            return germanAppleLinked(isPasswordRemoved)
        case .registration(let link): return germanRegistration(link)
        case .accountExists(let link): return germanAccountExists(link)
        }
    }

    private static func germanDeletionUndone(_ ended: String) -> MailText {
        MailText(
            .german,
            "Dein Konto ist wieder da",
            ["Dein StreakSnap-Konto wurde wiederhergestellt. Es wird nicht gelöscht.", ended],
            protectInGerman
        )
    }

    private static func germanReceipt(of product: String, price: String, order: String, at: Instant) -> MailText {
        MailText(
            .german,
            "Deine Quittung",
            ["Danke für deinen Kauf."],
            facts: [
                ("Produkt", GermanProducts.name(product)), ("Preis", price), ("Bestellung", order),
                ("Datum", MailLanguage.german.date(at)),
            ],
            "Erstattungen übernimmt der Store, in dem du bezahlt hast."
        )
    }
}
