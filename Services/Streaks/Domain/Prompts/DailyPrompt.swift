public import Kernel

/// What everyone is asked to photograph on a UTC date (PW-1).
public struct DailyPrompt: Hashable, Sendable {
    /// In the order of rotation.
    public enum Category: String, Hashable, Sendable, CaseIterable {
        case food
        case color
        case view
        case mood
        case object
        case activity
    }

    /// Stable: `food-01` … `activity-21`.
    public let id: String
    public let text: String
    public let category: Category
    public let emoji: String

    /// The prompt of a date: the same for everyone, a new category each date, none again within 126 dates.
    public static func of(_ date: CalendarDate) -> DailyPrompt {
        let categories = Category.allCases
        let cycle = categories.count * PromptTexts.perCategory
        let remainder = Int(date.dayNumber) % cycle
        let position = remainder < 0 ? remainder + cycle : remainder
        return of(categories[position % categories.count], position / categories.count)
    }

    /// Every built-in prompt.
    public static var all: [DailyPrompt] {
        Category.allCases.flatMap { category in (0..<PromptTexts.perCategory).map { of(category, $0) } }
    }

    private static func of(_ category: Category, _ index: Int) -> DailyPrompt {
        let (text, emoji) = PromptTexts.texts(category)[index]
        let number = index + 1 < 10 ? "0\(index + 1)" : "\(index + 1)"
        return DailyPrompt(id: "\(category.rawValue)-\(number)", text: text, category: category, emoji: emoji)
    }
}
