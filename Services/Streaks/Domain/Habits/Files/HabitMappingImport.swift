/// Reads any CSV file with a header by a mapping of its columns.
public struct HabitMappingImport: Sendable {
    /// Positions of the columns in a row.
    private struct Columns {
        var name: Int?
        var date: Int
        var status: Int?
        var value: Int?
        var note: Int?
    }

    private let mapping: HabitMapping
    private let format: CalendarFormat?
    private let completed: Set<String>
    private let skipped: Set<String>
    private var reader: CSVReader
    private var rows: HabitRows
    private var columns: Columns?
    private var isBroken = false
    private var otherStatuses: [String: Int] = [:]

    public init(_ mapping: HabitMapping, _ context: HabitFileContext) {
        self.mapping = mapping
        reader = CSVReader(separator: mapping.separator.byte)
        rows = HabitRows(context)
        format = CalendarFormat(mapping.dateFormat)
        completed = Set(mapping.completedWords.map { HabitText.key($0) })
        skipped = Set(mapping.skippedWords.map { HabitText.key($0) })
        if format == nil {
            stop("columns.date_format", "must have a year (yyyy or yy), a month (MM or M) and a day (dd or d), each once")
        }
        if mapping.name == nil, HabitFileRules.trimmed(mapping.habitName).isEmpty {
            stop("columns.name", "is needed, or columns.habit_name for a file of one habit")
        }
        if mapping.status != nil, completed.isEmpty { stop("columns.completed_words", "are needed with columns.status") }
    }

    public mutating func read(_ bytes: some Sequence<UInt8>) {
        guard !isBroken else { return }
        do throws(CSVProblem) {
            for byte in bytes { if let row = try reader.read(byte) { take(row) } }
        } catch {
            isBroken = true
            rows.error(error)
        }
    }

    public mutating func finish() -> HabitImport {
        do throws(CSVProblem) {
            if !isBroken { for row in try reader.finish() { take(row) } }
        } catch { rows.error(error) }
        if columns == nil, !isBroken { rows.error("", "is empty: it needs a header and rows") }
        for (word, count) in otherStatuses.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            rows.warning("", "\(count) rows with the status “\(word.prefix(50))” are left out: it is in no list of words")
        }
        var found = rows.finish()
        found.checkDates()
        if !found.habits.isEmpty {
            found.problems.warning("", "The file has no schedules: every habit becomes daily. Change that after the import.")
        }
        return found
    }

    private mutating func stop(_ place: String, _ message: String) {
        isBroken = true
        rows.error(place, message)
    }

    private mutating func take(_ row: CSVReader.Row) {
        guard !isBroken else { return }
        guard let columns else { return takeHeader(row) }
        let place = HabitFileProblems.place(nil, row.line)
        func cell(_ index: Int?) -> String { index.flatMap { $0 < row.cells.count ? row.cells[$0] : nil } ?? "" }
        let text = HabitFileRules.trimmed(cell(columns.date))
        guard let date = format?.date(text) else {
            return rows.error("\(place), column \(columns.date + 1)", "is no date as \(mapping.dateFormat)")
        }
        var status = HabitRows.Status.completed
        if let index = columns.status {
            let word = HabitText.key(cell(index))
            if skipped.contains(word) {
                status = .skipped
            } else if !completed.contains(word) {
                if otherStatuses.count < 20 || otherStatuses[word] != nil { otherStatuses[word, default: 0] += 1 }
                return
            }
        }
        var amount: Amount?
        if status == .completed, let index = columns.value {
            switch value(cell(index)) {
            case .some(let known): amount = known
            case nil where columns.status == nil && isZero(cell(index)): return
            case nil where isZero(cell(index)): break
            case nil:
                return rows.error(
                    "\(place), column \(index + 1)",
                    "must be a number of at least 0 with at most 3 places, or empty"
                )
            }
        }
        rows.add(
            columns.name == nil ? mapping.habitName : cell(columns.name),
            HabitRows.Row(date: date, status: status, amount: amount, note: cell(columns.note)),
            at: place
        )
    }

    /// The value of a cell: `.some(nil)` when it is empty, nil when it is no value above 0.
    private func value(_ cell: String) -> Amount?? {
        let text = decimal(cell)
        if text.isEmpty { return .some(nil) }
        return Amount(decimal: text).map { .some($0) }
    }

    private func isZero(_ cell: String) -> Bool {
        let text = decimal(cell)
        return text.contains("0") && text.utf8.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ".") }
    }

    /// Where a comma does not separate cells it is in numbers what a point is elsewhere.
    private func decimal(_ cell: String) -> String {
        let text = HabitFileRules.trimmed(cell)
        return mapping.separator == .comma ? text : String(text.map { $0 == "," ? "." : $0 })
    }

    private mutating func takeHeader(_ row: CSVReader.Row) {
        let names = row.cells.map { HabitText.key($0) }
        func find(_ name: String?, _ field: String) -> Int? {
            guard let name else { return nil }
            let places = names.indices.filter { names[$0] == HabitText.key(name) }
            if places.count != 1 {
                let shown = row.cells.prefix(20).map { "“\($0.prefix(30))”" }.joined(separator: ", ")
                let fault = places.isEmpty ? "is no column of the file" : "is the header of \(places.count) columns"
                stop(field, "“\(name.prefix(50))” \(fault); its columns are \(shown)")
            }
            return places.first
        }
        let date = find(mapping.date, "columns.date")
        let found = Columns(
            name: find(mapping.name, "columns.name"),
            date: date ?? 0,
            status: find(mapping.status, "columns.status"),
            value: find(mapping.value, "columns.value"),
            note: find(mapping.note, "columns.note")
        )
        columns = found
    }
}
