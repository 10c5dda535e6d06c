import Kernel

/// A file of the ZIP that Loop Habit Tracker exports.
public struct LoopFile: Sendable {
    /// `Habits.csv`, `001 Meditate/Checkmarks.csv`
    public var path: String
    public var bytes: [UInt8]

    public init(path: String, bytes: [UInt8]) { (self.path, self.bytes) = (path, bytes) }

    /// Whether the import reads a file of this path; all others need not be unpacked.
    public static func isRead(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return name == "Habits.csv" || name == "Checkmarks.csv"
    }
}

/// Reads the CSV export of Loop Habit Tracker for Android (HA-6).
///
/// `Habits.csv` lists the habits. What was done is in `NNN NAME/Checkmarks.csv` of each, with notes in newer versions; of a habit without
/// that file it is in the wide `Checkmarks.csv`: newest first, a column a habit, a comma at the end of each line, names without quotes.
///
/// | older | newer | here |
/// |---|---|---|
/// | 2 | `YES_MANUAL` | a completion |
/// | 1 | `YES_AUTO` | nothing: Loop fills in dates that its frequency leaves free |
/// | 3 | `SKIP` | a skipped date, when it is due |
/// | 0, -1 | `NO`, `UNKNOWN` | nothing |
/// | thousandths | thousandths | a value, of a habit with numbers |
///
/// Frequencies: n times in 7 days are times per week, once in n days is every n-th date; others have no equivalent, and a warning says
/// what they become.
public struct LoopImport {
    struct Habit {
        var name: String
        var line: Int
        var position: Int
        var isNumeric = false
        var isAtMost = false
        var target: Amount?
        var numerator = 1
        var denominator = 1
        var record: FileHabit
        /// From oldest to newest, or the other way round.
        var entries: [(date: CalendarDate, entry: Entry, note: String)] = []
        /// Dates above a target of at most.
        var excesses = 0
    }

    enum Entry: Hashable {
        case done(Amount?)
        case skipped
        /// Above a target of at most.
        case excess
    }

    let context: HabitFileContext
    var found = HabitImport()
    var habits: [Habit] = []
    private var entryCount = 0

    /// Everything that the files say.
    public static func read(_ files: [LoopFile], _ context: HabitFileContext) -> HabitImport {
        var loop = LoopImport(context: context)
        guard let list = files.first(where: { $0.path.split(separator: "/").last == "Habits.csv" }) else {
            loop.found.problems.error("", "has no Habits.csv: it must be the ZIP that Loop makes with “Export as CSV”")
            return loop.found
        }
        // The folder that the ZIP may have been packed with again.
        let root = String(list.path.dropLast("Habits.csv".count))
        loop.readHabits(list.bytes)
        var detailed: Set<Int> = []
        for file in files where file.path.hasPrefix(root) && file.path.hasSuffix("/Checkmarks.csv") {
            let path = String(file.path.dropFirst(root.count))
            guard let position = Int(path.prefix { $0.isNumber }),
                let index = loop.habits.firstIndex(where: { $0.position == position })
            else { continue }
            detailed.insert(index)
            loop.readEntries(file.bytes, path, of: index)
        }
        if let wide = files.first(where: { $0.path == root + "Checkmarks.csv" }), detailed.count < loop.habits.count {
            loop.readWide(wide.bytes, except: detailed)
        }
        loop.makeRecords()
        return loop.found
    }

    private init(context: HabitFileContext) { self.context = context }

    /// Takes each row of a file, one after the other: all cells of a wide file would be gigabytes. What is wrong with its CSV is noted.
    private mutating func read(_ bytes: [UInt8], _ file: String, _ take: (inout LoopImport, CSVReader.Row) -> Void) {
        var reader = CSVReader(limits: .init(columns: HabitFileRules.mostHabits + 2))
        do throws(CSVProblem) {
            for byte in bytes { if let row = try reader.read(byte) { take(&self, row) } }
            for row in try reader.finish() { take(&self, row) }
        } catch {
            found.problems.error(error, file: file)
        }
    }

    private mutating func readHabits(_ bytes: [UInt8]) {
        let file = "Habits.csv"
        var header: [String] = []
        read(bytes, file) { loop, row in
            if header.isEmpty {
                header = row.cells.map { HabitText.key($0) }
            } else if header.contains("name") {
                loop.readHabit(row, header, HabitFileProblems.place(file, row.line))
            }
        }
        if !header.contains("name") { found.problems.error(file, "must have a header with “Name”") }
    }

    private mutating func readHabit(_ row: CSVReader.Row, _ header: [String], _ place: String) {
        func cell(_ names: String...) -> String {
            names.lazy.compactMap(header.firstIndex).first.flatMap { $0 < row.cells.count ? row.cells[$0] : nil } ?? ""
        }
        let name = HabitFileRules.trimmed(cell("name"))
        let short = HabitFileRules.fitted(name, most: HabitFileRules.nameLength, isLine: true)
        guard (try? HabitText.name(short, field: "", most: HabitFileRules.nameLength)) != nil else {
            return found.problems.error(place, "has no name")
        }
        guard habits.count < HabitFileRules.mostHabits else {
            return found.problems.error(place, "is beyond \(HabitFileRules.mostHabits) habits")
        }
        var habit = Habit(
            name: name,
            line: row.line,
            position: Int(cell("position")) ?? habits.count + 1,
            record: FileHabit(name: short, versions: [])
        )
        habit.isNumeric = cell("type") == "NUMERICAL"
        habit.isAtMost = habit.isNumeric && cell("target type") == "AT_MOST"
        habit.target = habit.isNumeric ? Amount(decimal: cell("target value")) : nil
        habit.numerator = Int(cell("frequencynumerator", "numrepetitions")) ?? 1
        habit.denominator = Int(cell("frequencydenominator", "interval")) ?? 1
        let text = [cell("description"), cell("question")].map { HabitFileRules.trimmed($0) }.first { !$0.isEmpty } ?? ""
        habit.record.description = HabitFileRules.fitted(text, most: HabitFileRules.descriptionLength)
        habit.record.unit = HabitFileRules.fitted(cell("unit"), most: HabitFileRules.unitLength, isLine: true)
        habit.record.color = try? HabitText.color(cell("color"), field: "")
        if HabitText.key(cell("archived?")) == "true" { habit.record.archivings = [.init(from: context.today)] }
        habits.append(habit)
    }

    private mutating func readEntries(_ bytes: [UInt8], _ file: String, of index: Int) {
        read(bytes, file) { loop, row in
            // Older versions have no header.
            if HabitText.key(row.cells[0]) == "date" { return }
            let place = HabitFileProblems.place(file, row.line)
            guard let date = loop.date(row.cells[0], place) else { return }
            let value = row.cells.count > 1 ? row.cells[1] : ""
            loop.note(date, value, row.cells.count > 2 ? row.cells[2] : "", place, of: index)
        }
    }

    private mutating func readWide(_ bytes: [UInt8], except detailed: Set<Int>) {
        let file = "Checkmarks.csv"
        var columns: [Int]?
        read(bytes, file) { loop, row in
            let place = HabitFileProblems.place(file, row.line)
            guard let known = columns else {
                columns = loop.columns(of: row, place)
                return
            }
            guard !known.isEmpty, let date = loop.date(row.cells[0], place) else { return }
            for (column, index) in known.enumerated() where !detailed.contains(index) {
                loop.note(date, column + 1 < row.cells.count ? row.cells[column + 1] : "", "", place, of: index)
            }
        }
    }

    /// What the header of the wide file names; nothing when there is none.
    private mutating func columns(of header: CSVReader.Row, _ place: String) -> [Int] {
        guard HabitText.key(header.cells[0]) == "date" else { return [] }
        if let columns = columns(Array(header.cells.dropFirst())) { return columns }
        found.problems.error(place, "has names that are not in Habits.csv")
        return []
    }

    /// The habit of each column: names have no quotes here, so that one with commas is several cells. nil when a name is unknown.
    private func columns(_ cells: [String]) -> [Int]? {
        var rest = cells[...]
        if rest.last == "" { rest.removeLast() }
        var found: [Int] = []
        while !rest.isEmpty {
            let match = (1...min(rest.count, 26)).lazy.compactMap { count -> (Int, Int)? in
                let name = HabitFileRules.trimmed(rest.prefix(count).joined(separator: ","))
                return habits.indices.first { habits[$0].name == name && !found.contains($0) }.map { (count, $0) }
            }.first
            guard let (count, index) = match else { return nil }
            found.append(index)
            rest = rest.dropFirst(count)
        }
        return found
    }

    private static let words = ["YES_MANUAL": 2, "YES_AUTO": 1, "NO": 0, "SKIP": 3, "UNKNOWN": -1]

    private mutating func date(_ text: String, _ place: String) -> CalendarDate? {
        if let date = CalendarDate(HabitFileRules.trimmed(text)) { return date }
        found.problems.error(place, "has no date as YYYY-MM-DD")
        return nil
    }

    private mutating func note(_ date: CalendarDate, _ value: String, _ note: String, _ place: String, of index: Int) {
        let text = HabitFileRules.trimmed(value)
        guard let number = Self.words[text] ?? Int(text), let known = entry(number, of: habits[index]) else {
            return found.problems.error(place, "“\(text.prefix(20))” is none of Loop's values")
        }
        guard let entry = known else { return }
        if let problem = context.problem(with: date) {
            return found.problems.warning(place, "the date \(date) \(problem) and is left out")
        }
        entryCount += 1
        guard entryCount <= HabitFileRules.mostCompletions else {
            if entryCount == HabitFileRules.mostCompletions + 1 {
                found.problems.error(place, "is beyond \(HabitFileRules.mostCompletions) entries")
            }
            return
        }
        if note.count > HabitFileRules.noteLength {
            found.problems.warning(place, "the note is cut off after \(HabitFileRules.noteLength) characters")
        }
        habits[index].entries.append((date, entry, HabitFileRules.fitted(note, most: HabitFileRules.noteLength)))
    }

    /// nil: no value of Loop's; `.some(nil)`: nothing happened on the date.
    private func entry(_ number: Int, of habit: Habit) -> Entry?? {
        if number == 3 { return .some(.skipped) }
        guard habit.isNumeric else {
            if number == 2 { return .some(.done(nil)) }
            return (-1...1).contains(number) ? .some(nil) : nil
        }
        if number < 0 { return number == -1 ? .some(nil) : nil }
        // Nothing at all is a success for “at most”.
        if number == 0 { return habit.isAtMost ? .some(.done(nil)) : .some(nil) }
        let amount = Amount(thousandths: Int64(number))
        guard amount <= .largest else { return nil }
        if habit.isAtMost, let target = habit.target, amount > target { return .some(.excess) }
        return .some(.done(amount))
    }
}
