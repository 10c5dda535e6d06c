internal import AuthDomain
internal import NotificationsAPI

/// The links in mails: pages of the feature `links`, which phones open in the app.
struct MailLinks: Sendable {
    /// The address that clients use, without a slash at its end.
    let base: String

    init(base: String) { self.base = base.hasSuffix("/") ? String(base.dropLast()) : base }

    /// The link of a token. A page in another language than English says so in its address: a browser's is not asked.
    func link(_ token: String, for purpose: EmailToken.Purpose, locale: String) -> String {
        let page = purpose == .passwordReset ? "reset" : "verify"
        let language = locale.split(separator: "-").first.map { $0.lowercased() } ?? "en"
        return "\(base)/\(page)/\(token)\(language == "en" ? "" : "?lang=\(language)")"
    }
}

extension EmailToken.Purpose {
    /// The mail that a token is sent with.
    var mail: MailKind {
        switch self {
        case .verification: .verification
        case .passwordReset: .passwordReset
        case .emailChange: .emailChangeConfirm
        }
    }
}

extension MailKind {
    /// What the token in it is for; nil for a mail without one.
    var purpose: EmailToken.Purpose? {
        self == .accountExists ? .passwordReset : EmailToken.Purpose.allCases.first { $0.mail == self }
    }
}
