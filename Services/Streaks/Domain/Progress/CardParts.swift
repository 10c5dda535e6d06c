public import Kernel

/// The texts and colours of a milestone card, for clients that draw it (MC-1).
public enum CardParts {
    /// A gradient from the top to the bottom, and the colour of letters on it; `#RRGGBB`.
    public struct Style: Hashable, Sendable {
        public let name: String
        public let from: String
        public let to: String
        public let text: String
    }

    public static let emoji = "🔥"
    public static let title = "DAY STREAK"
    public static let watermark = "StreakSnap"

    /// In the order to offer them.
    public static let styles = [
        Style(name: "orange", from: "#FF6B35", to: "#FF3D00", text: "#FFFFFF"),
        Style(name: "purple", from: "#7C3AED", to: "#4F46E5", text: "#FFFFFF"),
        Style(name: "green", from: "#22C55E", to: "#166534", text: "#FFFFFF"),
        Style(name: "dark", from: "#1C1C1E", to: "#0A0A0A", text: "#FFFFFF"),
    ]

    /// `@ada & @ben`; an empty name is that of a user who may not be seen.
    public static func names(_ usernames: [String]) -> String {
        usernames.filter { !$0.isEmpty }.map { "@" + $0 }.joined(separator: " & ")
    }

    /// `Jan 5 – Mar 9, 2026`, `Dec 30, 2025 – Jan 2, 2026`, `Jan 5, 2026`; empty without dates.
    public static func dates(_ from: CalendarDate?, _ to: CalendarDate?) -> String {
        guard let from, let to else { return "" }
        return from.words(through: to)
    }

    /// One sentence to share with the card.
    public static func share(count: Int, friend: String) -> String {
        let with = friend.isEmpty ? "" : " with @\(friend)"
        guard count > 0 else { return "We have just started a streak\(with) on StreakSnap!" }
        return "\(emoji) \(count)-day streak\(with) on StreakSnap!"
    }
}
