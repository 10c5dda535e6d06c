@_spi(_Unicode) private import Swift

/// Display names that speak for the service or its staff, and whatever looks like one (UTS 39): no user may have them.
///
/// Names are compared as they are seen: without marks, spaces and punctuation, each letter as the one of ASCII that it looks like.
public struct ReservedNames: Sendable {
    /// Words that speak for the service.
    private static let words = [
        "admin", "admins", "administrator", "administrators", "administration", "billing", "customerservice", "helpdesk",
        "moderation",
        "moderator", "moderators", "mod", "mods", "official", "operator", "operators", "security", "staff", "superuser",
        "support",
        "sysadmin", "system", "webmaster",
    ]
    /// Words that change nothing beside one of those.
    private static let fillers = [
        "account", "accounts", "app", "care", "center", "centre", "chat", "customer", "customers", "desk", "help", "online",
        "our",
        "service", "services", "site", "team", "the", "user", "users", "your",
    ]
    private static let app = "streaksnap"
    /// Characters of ASCII that stand for letters.
    private static let alike: [Unicode.Scalar: Unicode.Scalar] = [
        "0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "3": "e", "4": "a", "@": "a", "5": "s", "$": "s", "7": "t",
    ]

    private let words: Set<String>
    private let fillers: Set<String>
    /// No name may hold one of these.
    private let apps: [String]

    /// - Parameter apps: how the installation's apps are called, beside the platform.
    public init(apps: [String] = []) {
        words = Set(Self.words.map(Self.skeleton))
        fillers = Set(Self.fillers.map(Self.skeleton))
        self.apps = ([Self.app] + apps).map(Self.skeleton).filter { !$0.isEmpty }
    }

    /// Whether a name is made of reserved words, or holds the name of an app.
    public func contains(_ name: String) -> Bool {
        let seen = Self.skeleton(name)
        return apps.contains { seen.contains($0) } || isMadeOfWords(seen)
    }

    /// The name of an account for which none was chosen (AU-1): the e-mail's local part, or `username`.
    public func fallback(email: String, username: String) -> String {
        let name = DisplayName.fallback(email: email, username: username)
        return contains(name) ? username : name
    }

    /// Whether the whole is reserved words and fillers in a row, with a reserved one among them.
    private func isMadeOfWords(_ seen: String) -> Bool {
        let letters = Array(seen)
        // What the first letters are made of; nil when they are not.
        var hasReserved: [Bool?] = [false] + letters.map { _ in nil }
        for end in letters.indices.map({ $0 + 1 }) {
            for start in max(0, end - 16)..<end {
                guard let before = hasReserved[start] else { continue }
                let word = String(letters[start..<end])
                guard words.contains(word) || fillers.contains(word) else { continue }
                hasReserved[end] = hasReserved[end] == true || before || words.contains(word)
            }
        }
        return hasReserved[letters.count] == true
    }

    /// What is seen of a text, as letters and digits.
    static func skeleton(_ text: String) -> String {
        var seen = ""
        for scalar in text._nfd {
            for letter in letters(scalar) {
                let plain = alike[letter] ?? letter
                if plain.properties.isAlphabetic || plain.properties.numericType != nil { seen.unicodeScalars.append(plain) }
            }
        }
        return seen.replacing("rn", with: "m")
    }

    /// The letters that a character is seen as; none for marks and what is not seen.
    private static func letters(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark: return []
        default: break
        }
        if scalar.properties.isDefaultIgnorableCodePoint { return [] }
        if let letter = Confusables.letter(scalar) { return [letter] }
        // Small Cyrillic and Greek letters are capitals in a smaller size, as т and к.
        let capital = scalar.properties.uppercaseMapping.unicodeScalars
        if scalar.value >= 0x80, capital.count == 1, let letter = capital.first.flatMap(Confusables.letter) { return [letter] }
        return Array(scalar.properties.lowercaseMapping.unicodeScalars)
    }
}
