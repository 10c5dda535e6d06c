internal import Kernel
internal import StreaksAPI
internal import StreaksDomain
private import Synchronization

/// What a change of one user's habits has come to so far: each thing once, as it stands in the end. With the commit it is one event, for the
/// user's other devices.
final class HabitNews: Sendable {
    /// Things that an event names; of more it says only that there are.
    static let most = 20

    /// What is another now.
    enum Thing: Hashable, Sendable {
        case habit(HabitID)
        case date(HabitID, CalendarDate)
        case completion(CompletionID)
        case category(HabitCategoryID)
        case dayNote(CalendarDate)
        case settings
        case habitOrder
        case categoryOrder
    }

    /// How a thing stands; nil where it is as before.
    private struct Standing {
        var status: String?
        var count: Int?
    }

    private struct State {
        /// In the order they came.
        var things: [Thing] = []
        var standings: [Thing: Standing] = [:]
        var isTooMuch = false
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - status: a word of `HabitsChange.status`; nil: as before.
    ///   - count: of the habit's streak; nil: as before.
    func add(_ thing: Thing, _ status: String? = nil, count: Int? = nil) {
        state.withLock { state in
            guard !state.isTooMuch else { return }
            if state.standings[thing] == nil { state.things.append(thing) }
            let before = state.standings[thing]
            state.standings[thing] = Standing(status: status ?? before?.status, count: count ?? before?.count)
            if state.things.count > Self.most { state = State(isTooMuch: true) }
        }
    }

    /// Everything is another.
    func addAll() { state.withLock { $0 = State(isTooMuch: true) } }

    /// - Parameter sequence: the number of the change.
    /// - Returns: nil when nothing is another.
    func event(of user: UserID, _ sequence: Int64) -> HabitsChanged? {
        state.withLock { state in
            guard state.isTooMuch || !state.things.isEmpty else { return nil }
            let changes = state.things.map { Self.change($0, state.standings[$0] ?? Standing()) }
            return HabitsChanged(userID: user, sequence: sequence, changes: changes)
        }
    }

    private static func change(_ thing: Thing, _ standing: Standing) -> HabitsChange {
        var change = HabitsChange(status: standing.status, count: standing.count.map { Int32(clamping: $0) })
        switch thing {
        case .habit(let id): (change.entity, change.habitID) = ("habit", id)
        case .date(let id, let date): (change.entity, change.habitID, change.date) = ("date", id, date)
        case .completion(let id): (change.entity, change.completionID) = ("completion", id)
        case .category(let id): (change.entity, change.categoryID) = ("category", id)
        case .dayNote(let date): (change.entity, change.date) = ("day_note", date)
        case .settings: change.entity = "settings"
        case .habitOrder: change.entity = "habit_order"
        case .categoryOrder: change.entity = "category_order"
        }
        return change
    }
}

extension HabitBook {
    /// A habit, or its details, are others.
    ///
    /// - Parameters:
    ///   - isArchived: whether it is in the archive now.
    ///   - change: of its streak; nil when there was none.
    func announce(_ habit: Locked, isArchived: Bool, _ change: PlannedChange? = nil) {
        let pause = change.map { $0.change.state.pause } ?? habit.record.pause(on: date.today)
        let isPaused = pause.map { $0.from <= date.today } ?? false
        let status = isArchived ? "archived" : isPaused ? "paused" : "active"
        news.add(.habit(habit.id), status, count: change?.change.state.count ?? habit.record.count)
    }

    /// Dates of a habit whose completions or skips are others.
    func announce(_ habit: HabitID, dates: Set<CalendarDate>, _ change: PlannedChange) {
        guard change.entries.habit != nil else { return }
        let (before, after) = (change.change.before.habit?.days ?? [:], change.change.state.habit?.days ?? [:])
        // Of a date that no state shows it is not known whether it is another.
        for date in dates.sorted() where before[date] != after[date] || after[date] == nil {
            news.add(.date(habit, date), after[date]?.status.word, count: change.change.state.count)
        }
    }
}

extension HabitDay.Status {
    /// As the API writes it.
    fileprivate var word: String {
        switch self {
        case .done: "done"
        case .partial: "partial"
        case .missed: "missed"
        case .open: "open"
        case .skipped: "skipped"
        case .paused: "paused"
        case .archived: "archived"
        case .excused: "excused"
        case .notDue: "not_due"
        case .extra: "extra"
        case .free: "free"
        }
    }
}
