import Kernel

/// Makes habits of the rows of a table: one for each name, in the order they come first.
struct HabitRows {
    enum Status {
        case completed, partial, skipped
    }

    struct Row {
        var date: CalendarDate
        var status: Status
        var amount: Amount?
        var note = ""
        var at: Instant?
    }

    private struct Building {
        var name: String
        var rows: [Row] = []
        /// Where it comes first.
        var place: String
    }

    let context: HabitFileContext
    private(set) var found = HabitImport()
    private var habits: [Building] = []
    private var index: [String: Int] = [:]
    private var count = 0

    init(_ context: HabitFileContext) { self.context = context }

    mutating func error(_ place: String, _ message: String) { found.problems.error(place, message) }
    mutating func warning(_ place: String, _ message: String) { found.problems.warning(place, message) }
    mutating func error(_ problem: CSVProblem) { found.problems.error(problem) }

    /// Adds a row, or notes what is wrong with it.
    mutating func add(_ name: String, _ row: Row, at place: String) {
        let full = HabitFileRules.trimmed(name)
        let name = HabitFileRules.fitted(name, most: HabitFileRules.nameLength, isLine: true)
        guard (try? HabitText.name(name, field: "", most: HabitFileRules.nameLength)) != nil else {
            return error(place, "has no name of a habit")
        }
        if let problem = context.problem(with: row.date) { return error(place, "the date \(row.date) \(problem)") }
        if row.status == .partial, row.amount == nil {
            return error(place, "needs a value: Partial says that something was done")
        }
        count += 1
        guard count <= HabitFileRules.mostCompletions else {
            if count == HabitFileRules.mostCompletions + 1 { error(place, "is beyond \(HabitFileRules.mostCompletions) entries") }
            return
        }
        var row = row
        if row.note.count > HabitFileRules.noteLength {
            warning(place, "the note is cut off after \(HabitFileRules.noteLength) characters")
        }
        row.note = HabitFileRules.fitted(row.note, most: HabitFileRules.noteLength)
        if row.status == .skipped, !row.note.isEmpty {
            warning(place, "the note is dropped: a skipped date has none")
        }
        let key = HabitText.key(full)
        if let known = index[key] { return habits[known].rows.append(row) }
        guard habits.count < HabitFileRules.mostHabits else {
            return error(place, "is beyond \(HabitFileRules.mostHabits) habits")
        }
        index[key] = habits.count
        if full.count > HabitFileRules.nameLength {
            warning(place, "the name is cut off after \(HabitFileRules.nameLength) characters")
        }
        habits.append(Building(name: name, rows: [row], place: place))
    }

    mutating func finish() -> HabitImport {
        var taken: Set<String> = []
        for habit in habits {
            found.habits.append(record(HabitFileRules.unique(habit.name, taken: &taken), habit))
        }
        return found
    }

    private mutating func record(_ name: String, _ habit: Building) -> FileHabit {
        var dates: [CalendarDate: [Row]] = [:]
        var record = FileHabit(name: name, versions: [])
        for row in habit.rows {
            if row.status == .skipped {
                record.skips.insert(row.date)
            } else if row.amount == nil, dates[row.date] != nil {
                warning(habit.place, "“\(name)” is completed twice on \(row.date): the second one has no value and is left out")
            } else {
                dates[row.date, default: []].append(row)
            }
        }
        let order = dates.keys.sorted()
        for date in order {
            for row in dates[date] ?? [] {
                record.completions.append(.init(date: date, amount: row.amount, note: row.note, at: row.at))
            }
        }
        let first = min(order.first ?? context.today, record.skips.min() ?? context.today)
        record.versions = targets(order.map { ($0, dates[$0] ?? []) }, since: first).map { from, target in
            HabitEntries.Version(from: from, schedule: .daily, target: target, weekStart: context.weekStart)
        }
        return record
    }

    /// A table has no targets, but it says which dates reached theirs: the fewest changes of target that say the same. Without a date that is
    /// partial or has several completions, no target is needed.
    private func targets(_ dates: [(date: CalendarDate, rows: [Row])], since first: CalendarDate) -> [(CalendarDate, Amount?)] {
        guard dates.contains(where: { $0.rows.count > 1 || $0.rows.contains { $0.status == .partial } }) else {
            return [(first, nil)]
        }
        var found: [(CalendarDate, Amount?)] = []
        // The target is above `low` and at most `high`.
        var (from, low, high) = (first, Amount.zero, Amount.largest)
        var isHighKnown = false
        func target() -> Amount {
            isHighKnown ? high : min(high, low + Amount(thousandths: 1000))
        }
        for (date, rows) in dates where !rows.contains(where: { $0.amount == nil }) {
            let sum = rows.reduce(Amount.zero) { $0 + ($1.amount ?? .zero) }
            let isDone = rows.contains { $0.status == .completed }
            let (newLow, newHigh) = (isDone ? low : max(low, sum), isDone ? min(high, sum) : high)
            if newLow < newHigh {
                (low, high, isHighKnown) = (newLow, newHigh, isHighKnown || isDone)
            } else {
                found.append((from, target()))
                from = date
                (low, high, isHighKnown) = (isDone ? .zero : sum, isDone ? min(sum, .largest) : .largest, isDone)
            }
        }
        return found + [(from, target())]
    }
}
