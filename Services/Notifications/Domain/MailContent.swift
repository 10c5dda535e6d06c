public import Kernel

/// What a mail is about, with the values of its text (AU-13).
public enum MailContent: Hashable, Sendable {
    /// Verify the address of a new account.
    case verification(link: String)
    /// Set a new password.
    case passwordReset(link: String)
    /// To the new address: confirm it.
    case emailChangeConfirm(link: String)
    /// To the old address: the account has another one, shown in part.
    case emailChangeNotice(newAddress: String)
    /// The password was changed.
    case passwordChanged
    /// The account was deleted; everything is removed at an instant.
    case deletionScheduled(at: Instant)
    /// The account is back; what has not come back with it, nil when that is not known.
    case deletionUndone(ended: EndedItems?)
    /// A purchase; in words for the reader.
    case purchaseReceipt(product: String, price: String, order: String, at: Instant)
    /// The account has got a second factor, or another one.
    case secondFactorEnrolled
    /// The account has no second factor any more.
    case secondFactorRemoved
    /// A recovery code was used instead of the second factor; how many are left.
    case recoveryCodeUsed(left: Int)
    /// Sign in with Apple was added to the account; whether its password no longer works.
    case appleLinked(isPasswordRemoved: Bool)
    /// Make the account that was asked for.
    case registration(link: String)
    /// An account was asked for, and there is one: set a new password.
    case accountExists(link: String)
}

/// A language that mails are written in.
public enum MailLanguage: String, Hashable, Sendable, CaseIterable {
    case english = "en"
    case german = "de"

    /// The language for a BCP 47 tag; English for those that there is no text in.
    public init(locale: String) {
        let language = locale.split { $0 == "-" || $0 == "_" }.first.map { $0.lowercased() } ?? ""
        self = MailLanguage(rawValue: language) ?? .english
    }

    /// `26 November 2026` and `26. November 2026`, in UTC.
    func date(_ instant: Instant) -> String {
        let (year, month, day) = CalendarDate(dayNumber: Int32(clamping: Self.day(instant))).components
        switch self {
        case .english: return "\(day) \(Self.englishMonths[month - 1]) \(year)"
        case .german: return "\(day). \(Self.germanMonths[month - 1]) \(year)"
        }
    }

    private static func day(_ instant: Instant) -> Int64 {
        let seconds = instant.seconds
        return seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    }

    private static let englishMonths = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
    ]
    private static let germanMonths = [
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember",
    ]
}
