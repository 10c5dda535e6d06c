/// A language that the texts exist in.
public enum Language: String, CaseIterable, Hashable, Sendable {
    case english = "en"
    case german = "de"

    /// The language of a BCP 47 tag (`de-AT`, also `de_AT`), by its first part; nil when there are no texts in it.
    public init?(locale: String) {
        let first = locale.prefix { $0 != "-" && $0 != "_" }
        self.init(rawValue: first.lowercased())
    }
}

/// All texts of one language: a translation is one more of these, and one case of `Language`.
protocol Texts {
    /// Title and body, before they are cut to length.
    ///
    /// - Parameter name: of the user who caused it; nil: one who may not be named.
    static func text(_ kind: NotificationKind, _ values: NotificationValues, name: String?) -> NotificationText
}

extension Language {
    var texts: any Texts.Type {
        switch self {
        case .english: EnglishTexts.self
        case .german: GermanTexts.self
        }
    }
}

/// A number with its word, in a language with one form for 1 and another for all else.
func counted(_ count: Int32, _ one: String, _ more: String) -> String { count == 1 ? "1 \(one)" : "\(count) \(more)" }
