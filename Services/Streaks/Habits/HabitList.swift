internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Habits in the order of their categories, those without one last.
struct HabitList {
    struct Entry {
        let record: HabitRecord
        let position: ListPosition
    }

    let entries: [Entry]
    private let categories: [HabitCategoryRecord]
    private let showsEmpty: Bool

    /// - Parameters:
    ///   - categories: in their order.
    ///   - showsEmpty: whether categories without habits are groups too.
    init(_ records: [HabitRecord], _ categories: [HabitCategoryRecord], showsEmpty: Bool) {
        (self.categories, self.showsEmpty) = (categories, showsEmpty)
        let places = Dictionary(uniqueKeysWithValues: categories.enumerated().map { ($1.id, $0) })
        entries = records.map { record in
            let place = record.details.category.flatMap { places[$0] } ?? categories.count
            return Entry(record: record, position: ListPosition(category: place, order: record.position, record.id))
        }.sorted { $0.position < $1.position }
    }

    /// The groups of a page; their counts are those of the whole list. Empty ones are on the page where they would begin.
    func groups(_ shown: [Entry], isFirst: Bool, isLast: Bool, _ item: (HabitRecord) -> HabitItem) -> [HabitGroup] {
        let first = isFirst ? 0 : shown.first.map { Int($0.position.category) } ?? categories.count
        let last = isLast ? categories.count : shown.last.map { Int($0.position.category) } ?? categories.count
        guard first <= last else { return [] }
        return (first...last).compactMap { place in
            let category = categories.indices.contains(place) ? categories[place] : nil
            let here = shown.filter { $0.position.category == place }
            guard !here.isEmpty || (showsEmpty && category != nil) else { return nil }
            return HabitGroup(
                category: category.map { HabitCategory($0) },
                count: Int32(clamping: entries.count { $0.position.category == place }),
                habits: here.map { item($0.record) }
            )
        }
    }
}

extension [StreakID: [CalendarDate: HabitDay.Status]] {
    /// The last 7 dates of a habit, today last.
    func squares(of streak: StreakID, until today: CalendarDate) -> [HabitSquare] {
        let days = self[streak] ?? [:]
        return (today.advanced(by: -6)...today).map { HabitSquare(days[$0]) }
    }
}
