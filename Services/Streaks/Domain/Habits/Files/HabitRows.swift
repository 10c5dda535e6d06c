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
        var taken = TakenNames()
        for habit in habits {
            found.habits.append(record(taken.take(habit.name, most: HabitFileRules.nameLength), habit))
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
    /// partial or has several completions, no target is needed. A date whose completion has no value had none: with one, what is missing
    /// would become its value (HA-14).
    private func targets(_ dates: [(date: CalendarDate, rows: [Row])], since first: CalendarDate) -> [(CalendarDate, Amount?)] {
        guard dates.contains(where: { Span.needsTarget($0.rows) }) else { return [(first, nil)] }
        var found: [(CalendarDate, Amount?)] = []
        var (from, span) = (first, Span())
        for (date, rows) in dates where !span.takes(rows) {
            found.append((from, span.target))
            (from, span) = (date, Span())
            _ = span.takes(rows)
        }
        return found + [(from, span.target)]
    }

    /// Dates one after the other that one target, or none, says the same of as their rows.
    private struct Span {
        private var (needsTarget, needsNone) = (false, false)
        /// The target is above `low` and at most `high`.
        private var (low, high) = (Amount.zero, Amount.largest)
        private var isHighKnown = false

        static func needsTarget(_ rows: [Row]) -> Bool { rows.count > 1 || rows.contains { $0.status == .partial } }

        var target: Amount? {
            guard !needsNone else { return nil }
            return isHighKnown ? high : min(high, low + Amount(thousandths: 1000))
        }

        /// Takes a further date.
        ///
        /// - Returns: whether it fits; one that does not changes nothing. The first one always fits.
        mutating func takes(_ rows: [Row]) -> Bool {
            var next = self
            let isWithoutValue = rows.contains { $0.amount == nil }
            next.needsTarget = needsTarget || Self.needsTarget(rows)
            next.needsNone = needsNone || isWithoutValue && rows.count == 1
            if !isWithoutValue {
                let sum = rows.reduce(Amount.zero) { $0 + ($1.amount ?? .zero) }
                if rows.contains(where: { $0.status == .completed }) {
                    (next.high, next.isHighKnown) = (min(high, sum), true)
                } else {
                    // No target is above the largest, whatever a table says.
                    next.low = max(low, min(sum, Amount.largest - Amount(thousandths: 1)))
                }
            }
            guard !(next.needsTarget && next.needsNone), next.needsNone || next.low < next.high else { return false }
            self = next
            return true
        }
    }
}
