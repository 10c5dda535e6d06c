public import Kernel

/// The looks of a milestone card (MC-1).
public enum CardStyle: Int32, Sendable, CaseIterable {
    case orange = 1
    case purple = 2
    case green = 3
    case dark = 4

    /// As in requests and links.
    public var name: String { "\(self)" }
}

/// One of the two people on a card.
public struct CardPerson: Sendable, Hashable {
    /// Who it is; the colour of a disc without avatar follows from it.
    public let id: UserID
    /// The name shown.
    public let displayName: String
    /// The handle, without `@`.
    public let username: String

    /// One of the two people on a card. Characters of the name that command instead of showing (controls, marks that turn the direction
    /// of what follows) are left out, runs of white space become one space; of a name that has nothing else, the handle is shown.
    public init(id: UserID, displayName: String, username: String) {
        let shown = displayName.unicodeScalars.filter { !Self.isCommand($0) || $0.properties.isWhitespace }
        let words = String(String.UnicodeScalarView(shown)).split { $0.isWhitespace }
        self.id = id
        self.displayName = words.isEmpty ? username : words.joined(separator: " ")
        self.username = username
    }

    private static func isCommand(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFC: true
        default: false
        }
    }

    /// What stands for an avatar: the first letters of the first and the last word, upper-case; one character of a script without
    /// cases, or an emoji; the handle's when the name has neither.
    public var initials: String {
        let words = displayName.split { $0.isWhitespace || $0 == "-" || $0 == "_" || $0 == "." }
        let signs = words.compactMap { word in word.first { $0.isLetter || $0.isNumber || $0.isEmoji } }
        guard let first = signs.first else { return username.first.map { $0.uppercased() } ?? "?" }
        guard first.isCased, let last = signs.dropFirst().last, last.isCased else { return first.uppercased() }
        return first.uppercased() + last.uppercased()
    }
}

extension Character {
    fileprivate var isEmoji: Bool {
        unicodeScalars.contains { $0.properties.isEmojiPresentation } || unicodeScalars.dropFirst().contains("\u{FE0F}")
    }
}

/// What a card says (MC-1): facts of a streak in words.
public struct MilestoneCard: Sendable, Hashable {
    /// Days of the streak.
    public let count: Int32
    /// How it looks.
    public let style: CardStyle
    /// The streak's first day and the day on which it reached the count.
    public let firstDay, lastDay: CalendarDate
    /// Both, always in the same order.
    public let people: [CardPerson]

    /// A card.
    public init(count: Int32, style: CardStyle, firstDay: CalendarDate, lastDay: CalendarDate, people: [CardPerson]) {
        self.count = count
        self.style = style
        self.firstDay = firstDay
        self.lastDay = lastDay
        self.people = people
    }

    /// What the card celebrates, in one line.
    public var title: String { "\(Self.emoji) \(count)-day streak: \(people.map(\.displayName).joined(separator: " & "))" }

    /// The same as a sentence.
    public var sentence: String {
        "\(people.map(\.displayName).joined(separator: " and ")) kept their streak alive for \(count) days, \(dateRange)."
    }

    /// `Jan 3 – Jan 9, 2026`, as streaks says it to clients that draw the card themselves; a year that both days share is said once.
    public var dateRange: String { firstDay.words(through: lastDay) }

    /// The emoji above the count.
    public static let emoji = "🔥"

    /// The emoji around it, rarer ones for longer streaks.
    public var sparks: String {
        switch count {
        case ..<30: Self.emoji
        case 30..<50: "⚡"
        case 50..<100: "🚀"
        case 100..<200: "💯"
        case 200..<365: "💎"
        case 365..<1_000: "🏆"
        default: "👑"
        }
    }
}
