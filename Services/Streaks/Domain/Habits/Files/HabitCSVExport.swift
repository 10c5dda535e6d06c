public import Kernel

/// What of the habits an export has.
public struct HabitExportRange: Hashable, Sendable {
    /// nil: from the first date on.
    public var from: CalendarDate?
    /// nil: up to the last date.
    public var to: CalendarDate?
    public var includesNotes: Bool

    public init(from: CalendarDate? = nil, to: CalendarDate? = nil, includesNotes: Bool = true) {
        (self.from, self.to, self.includesNotes) = (from, to, includesNotes)
    }

    func contains(_ date: CalendarDate) -> Bool { from.map { $0 <= date } ?? true && to.map { date <= $0 } ?? true }

    /// The habit with what lies in the range; its versions stay whole.
    func cut(_ habit: FileHabit) -> FileHabit {
        var habit = habit
        habit.completions.removeAll { !contains($0.date) }
        habit.skips = habit.skips.filter(contains)
        if !includesNotes { for index in habit.completions.indices { habit.completions[index].note = "" } }
        return habit
    }
}

/// Writes habits as CSV with the columns of the app: a row for each completion and each skipped date (HA-6).
///
/// The status is that of the date: `Completed` when its values reach the target valid then, otherwise `Partial`; or `Skipped`. Names and
/// notes that a spreadsheet would run get an apostrophe in front, which the import takes away (`SpreadsheetGuard`).
public struct HabitCSVExport: Sendable {
    public static let header = ["Habit Name", "Date", "Status", "Value", "Note"]

    private var writer = CSVWriter()
    private let range: HabitExportRange

    public init(_ range: HabitExportRange = HabitExportRange()) {
        self.range = range
        writer.row(Self.header)
    }

    /// Writes a habit.
    public mutating func add(_ habit: FileHabit) {
        let habit = range.cut(habit)
        let name = SpreadsheetGuard.protect(habit.name)
        let completions = Dictionary(grouping: habit.completions, by: \.date)
        for date in Set(completions.keys).union(habit.skips).sorted() {
            let done = completions[date] ?? []
            let status = habit.isReached(done, on: date) ? "Completed" : "Partial"
            for completion in done {
                writer.row([
                    name, "\(date)", status, completion.amount?.decimal ?? "", SpreadsheetGuard.protect(completion.note),
                ])
            }
            if habit.skips.contains(date) { writer.row([name, "\(date)", "Skipped", "", ""]) }
        }
    }

    /// Takes what has been written.
    public mutating func drain() -> [UInt8] { writer.drain() }

    /// Whether so much has been written that it should be sent.
    public var isFull: Bool { writer.bytes.count >= 64 << 10 }
}
