public import Kernel

/// The prompts that a member on a premium plan has written for a streak (PW-1).
public struct CustomPrompts: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        public let text: String
        /// nil: the app's own is shown.
        public let emoji: String?

        public init(text: String, emoji: String?) { (self.text, self.emoji) = (text, emoji) }
    }

    /// Shown where an entry has no emoji.
    public static let defaultEmoji = "📸"
    /// Most entries of a list.
    public static let mostEntries = 30
    /// Most characters of a text, as a person counts them.
    public static let longestText = 120

    /// In the order of rotation, at least one.
    public let entries: [Entry]

    /// Checks a list as its writer sent it; white space around a text is dropped, an empty emoji is none.
    ///
    /// - Throws: `VALIDATION_ERROR` naming what is wrong: no entries or more than 30, a text that is blank, longer than 120 characters or
    ///   has control characters, an emoji that is not one.
    public init(checking entries: [Entry]) throws(ServiceError) {
        guard !entries.isEmpty else { throw .validation(field: "prompts", "must have at least 1 element") }
        guard entries.count <= Self.mostEntries else {
            throw .validation(field: "prompts", "must have at most \(Self.mostEntries) elements")
        }
        var problems: [ServiceError.Detail] = []
        var checked: [Entry] = []
        for (index, entry) in entries.enumerated() {
            let text = Self.trimmed(entry.text)
            let emoji = entry.emoji.flatMap { $0.isEmpty ? nil : $0 }
            if let problem = Self.problem(of: text) {
                problems.append(ServiceError.Detail(field: "prompts[\(index)].text", message: problem))
            }
            if let emoji, !Self.isEmoji(emoji) {
                problems.append(ServiceError.Detail(field: "prompts[\(index)].emoji", message: "must be one emoji"))
            }
            checked.append(Entry(text: text, emoji: emoji))
        }
        guard problems.isEmpty else { throw .validation(problems) }
        self.entries = checked
    }

    /// A list that was checked when it was stored; nil without entries.
    public init?(stored entries: [Entry]) {
        guard !entries.isEmpty else { return nil }
        self.entries = entries
    }

    /// The entry of a UTC date, and its place in the list from 1: each in turn, from the first again after the last.
    public func entry(of date: CalendarDate) -> (number: Int, entry: Entry) {
        let remainder = Int(date.dayNumber) % entries.count
        let index = remainder < 0 ? remainder + entries.count : remainder
        return (index + 1, entries[index])
    }

    private static func problem(of text: String) -> String? {
        if text.isEmpty { return "must not be blank" }
        if text.utf8.count > TextLength.mostBytes(characters: longestText) || text.count > longestText {
            return "must have at most \(longestText) characters"
        }
        if text.unicodeScalars.contains(where: isUnprintable) { return "must be one line of text" }
        return nil
    }

    /// Control characters, line separators, and what turns the direction of the text around it.
    private static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: true
        case .format: (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
        default: false
        }
    }

    /// Whether a text is one character that is shown as an emoji.
    private static func isEmoji(_ text: String) -> Bool {
        guard text.count == 1, let first = text.unicodeScalars.first else { return false }
        let properties = first.properties
        if properties.isEmojiPresentation { return true }
        // ✂️ and 1️⃣ are text until a selector says otherwise.
        return properties.isEmoji && text.unicodeScalars.contains { $0.value == 0xFE0F }
    }

    private static func trimmed(_ text: String) -> String {
        var rest = Substring(text)
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
