public import Kernel

/// The looks of a milestone card (MC-1).
public enum CardStyle: Int32, Sendable, CaseIterable {
    case orange = 1
    case purple = 2
    case green = 3
    case dark = 4

    /// As in requests and links.
    public var name: String { "\(self)" }

    /// The style of this name; nil when there is none.
    public init?(name: String) {
        guard let style = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = style
    }
}

/// One of the people on a card.
public struct CardPerson: Sendable, Hashable {
    /// Who it is; the colour of a disc without avatar follows from it.
    public let id: UserID
    /// The name shown.
    public let displayName: String
    /// The handle, without `@`.
    public let username: String

    /// One of the people on a card. Characters of the name that command instead of showing (controls, marks that turn the direction
    /// of what follows) are left out, runs of white space become one space; of a name that has nothing else, the handle is shown.
    public init(id: UserID, displayName: String, username: String) {
        let name = Self.shown(displayName)
        self.id = id
        self.displayName = name.isEmpty ? username : name
        self.username = username
    }

    /// A name without what commands, with single spaces.
    static func shown(_ name: String) -> String {
        let shown = name.unicodeScalars.filter { !isCommand($0) || $0.properties.isWhitespace }
        return String(String.UnicodeScalarView(shown)).split { $0.isWhitespace }.joined(separator: " ")
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

/// What a card says of the streak's kind (MC-1); streaks knows the kinds and their texts.
public struct CardSubject: Sendable, Hashable {
    /// Above the count.
    public let emoji: String
    /// What the streak is about: an activity, or the name of a circle; empty for mutual streaks.
    public let name: String
    /// The name of the milestone; empty where it has none.
    public let title: String
    /// The streak is a circle's.
    public let isTeam: Bool

    /// Characters of a circle's name that command instead of showing are left out.
    public init(emoji: String, name: String, title: String, isTeam: Bool) {
        (self.emoji, self.title, self.isTeam) = (emoji, title, isTeam)
        self.name = CardPerson.shown(name)
    }

    /// Streaks of two friends: a photo each, every day.
    public static let mutual = CardSubject(emoji: "🔥", name: "", title: "", isTeam: false)

    /// `Recipe Creator · Week Warrior`; empty when there is neither.
    public var line: String { [name, title].filter { !$0.isEmpty }.joined(separator: " · ") }
}

/// What a card says (MC-1): facts of a streak in words.
public struct MilestoneCard: Sendable, Hashable {
    /// Days of the streak.
    public let count: Int32
    /// What kind of streak it is.
    public let subject: CardSubject
    /// How it looks.
    public let style: CardStyle
    /// The streak's first day and the day on which it reached the count.
    public let firstDay, lastDay: CalendarDate
    /// Both, always in the same order; of other streaks than mutual ones the one whose card it is.
    public let people: [CardPerson]

    /// A card.
    public init(
        count: Int32,
        style: CardStyle,
        firstDay: CalendarDate,
        lastDay: CalendarDate,
        subject: CardSubject = .mutual,
        people: [CardPerson]
    ) {
        self.count = count
        self.style = style
        self.subject = subject
        self.firstDay = firstDay
        self.lastDay = lastDay
        self.people = people
    }

    /// What the card celebrates, in one line.
    public var title: String {
        let who = people.map(\.displayName).joined(separator: " & ")
        return "\(subject.emoji) \(count)-day streak: \(who)" + (subject.name.isEmpty ? "" : ", \(subject.name)")
    }

    /// The same as a sentence.
    public var sentence: String {
        let who = people.map(\.displayName).joined(separator: " and ")
        guard !subject.name.isEmpty else { return "\(who) kept their streak alive for \(count) days, \(dateRange)." }
        let whose = subject.isTeam ? "\(who) and \(subject.name) kept their" : "\(who) kept the \(subject.name)"
        return "\(whose) streak alive for \(count) days, \(dateRange)."
    }

    /// What such a streak asks for, in one sentence.
    public var about: String {
        if subject.name.isEmpty { return "One photo a day, together. Miss a day, and it is gone." }
        return subject.isTeam
            ? "Every day, as a team. Together, or it is gone." : "One day at a time. Miss a day, and it is gone."
    }

    /// `Jan 3 – Jan 9, 2026`, as streaks says it to clients that draw the card themselves; a year that both days share is said once.
    public var dateRange: String { firstDay.words(through: lastDay) }

    /// The emoji around it, rarer ones for longer streaks.
    public var sparks: String {
        switch count {
        case ..<30: subject.emoji
        case 30..<50: "⚡"
        case 50..<100: "🚀"
        case 100..<200: "💯"
        case 200..<365: "💎"
        case 365..<1_000: "🏆"
        default: "👑"
        }
    }
}
