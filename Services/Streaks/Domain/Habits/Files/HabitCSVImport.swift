import Kernel

/// Reads what `HabitCSVExport` writes (HA-6): the same export comes of it again, byte for byte.
///
/// The file has no schedules: every habit becomes daily. Targets are those that its statuses say the same with. A date may also be a time
/// in RFC 3339, as the app's own export has it: it counts for the date of the person's zone.
public struct HabitCSVImport: Sendable {
    private static let statuses: [String: HabitRows.Status] = [
        "completed": .completed, "partial": .partial, "skipped": .skipped,
    ]

    private var reader = CSVReader()
    private var rows: HabitRows
    private var hasHeader = false
    private var isBroken = false

    public init(_ context: HabitFileContext) { rows = HabitRows(context) }

    /// Reads the next bytes of the file.
    public mutating func read(_ bytes: some Sequence<UInt8>) {
        guard !isBroken else { return }
        do throws(CSVProblem) {
            for byte in bytes { if let row = try reader.read(byte) { take(row) } }
        } catch {
            isBroken = true
            rows.error(error)
        }
    }

    /// Ends the file.
    public mutating func finish() -> HabitImport {
        do throws(CSVProblem) {
            if !isBroken { for row in try reader.finish() { take(row) } }
        } catch { rows.error(error) }
        if !hasHeader, !isBroken {
            rows.error("", "is empty: the first line must be “\(HabitCSVExport.header.joined(separator: ","))”")
        }
        var found = rows.finish()
        found.checkDates()
        if !found.habits.isEmpty {
            found.problems.warning("", "The file has no schedules: every habit becomes daily. Change that after the import.")
        }
        return found
    }

    private mutating func take(_ row: CSVReader.Row) {
        let place = HabitFileProblems.place(nil, row.line)
        guard hasHeader else {
            hasHeader = true
            let names = row.cells.map { HabitText.key($0) }
            if names != HabitCSVExport.header.map({ HabitText.key($0) }) {
                isBroken = true
                rows.error(place, "must be “\(HabitCSVExport.header.joined(separator: ","))”")
            }
            return
        }
        guard !isBroken else { return }
        guard row.cells.count == HabitCSVExport.header.count else {
            return rows.error(place, "has \(row.cells.count) cells, not \(HabitCSVExport.header.count)")
        }
        let text = row.cells[1]
        let at = Instant(rfc3339: text)
        guard let date = CalendarDate(text) ?? at.map(rows.context.zone.date(at:)) else {
            return rows.error(place + ", column 2", "is no date: write YYYY-MM-DD")
        }
        guard let status = Self.statuses[HabitText.key(row.cells[2])] else {
            return rows.error(place + ", column 3", "must be Completed, Partial or Skipped")
        }
        let value = HabitFileRules.trimmed(row.cells[3])
        let amount = Amount(decimal: value)
        guard value.isEmpty || amount != nil else {
            return rows.error(place + ", column 4", "must be a number above 0 with at most 3 places, or empty")
        }
        rows.add(
            SpreadsheetGuard.restore(row.cells[0]),
            HabitRows.Row(date: date, status: status, amount: amount, note: SpreadsheetGuard.restore(row.cells[4]), at: at),
            at: place
        )
    }
}
