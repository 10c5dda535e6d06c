import Foundation
import Kernel
import Processes
import StreaksDomain
import TestSupport
import Testing

/// CSV: the reader and writer, the guard against formulas, and export and import of habits (HA-6).
@Suite struct HabitCSVTests {
    private let context = HabitFileContext(today: CalendarDate(dayNumber: 20_500), zone: .utc)
    private static let header = "Habit Name,Date,Status,Value,Note\r\n"

    private func rows(_ bytes: [UInt8], _ limits: CSVReader.Limits = .init()) throws -> [CSVReader.Row] {
        var reader = CSVReader(limits: limits)
        return try reader.read(bytes) + reader.finish()
    }

    @Test(arguments: TestDepth.seeds(quick: 40, full: 400))
    func `export, import and export again give the same bytes`(seed: UInt64) throws {
        var samples = HabitFileSamples(seed)
        let first = HabitCSVExport.write(samples.habits())
        let found = HabitCSVImport.read(first, samples.context)
        #expect(found.problems.errors == [])
        let second = HabitCSVExport.write(found.habits)
        #expect(String(decoding: first, as: UTF8.self) == String(decoding: second, as: UTF8.self))
        #expect(first == second)
    }

    @Test(arguments: TestDepth.seeds(quick: 4, full: 40))
    func `Python reads the cells that were written, and what Python writes is read`(seed: UInt64) async throws {
        var samples = HabitFileSamples(seed)
        let table = (0..<30).map { _ in (0..<5).map { _ in samples.text(60) } }
        var writer = CSVWriter()
        for row in table { writer.row(row) }
        let script = """
            import csv, io, json, sys
            text = sys.stdin.buffer.read().decode('utf-8')
            rows = list(csv.reader(io.StringIO(text, newline=''), strict=True))
            out = io.StringIO(newline='')
            csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
            print(json.dumps([rows, out.getvalue()]))
            """
        let result = try await run("python3", ["-c", script], input: writer.drain())
        try #require(result.status == 0, "\(result.transcript)")
        let reply = try JSONDecoder().decode(PythonTable.self, from: Data(result.output))
        #expect(reply.rows == table)
        #expect(try rows(utf8(reply.text)).map(\.cells) == table)
    }

    private struct PythonTable: Decodable {
        var rows: [[String]]
        var text: String

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            rows = try list.decode([[String]].self)
            text = try list.decode(String.self)
        }
    }

    @Test(arguments: [
        ("a,b\r\n\"x", 2, 1, "never closed"), ("a\"b,c\n", 1, 1, "has a quote"), ("a,\"b\"c\n", 1, 2, "closing quote"),
        ("a\rb", 1, 2, "CR alone"), ("a,b\n\nc,\u{0}", 3, 2, "NUL"),
    ])
    func `What RFC 4180 does not allow is refused with line and column`(text: String, line: Int, column: Int, message: String)
        throws
    {
        let problem = try #require(throws: CSVProblem.self) { try rows(utf8(text)) }
        #expect(problem.line == line)
        #expect(problem.message.contains(message))
        if message != "CR alone" { #expect(problem.column == column) }
    }

    @Test func `Latin-1 and UTF-16 are refused by name`() throws {
        let latin1 = try #require(throws: CSVProblem.self) { try rows(utf8("a,b\nc,caf") + [0xE9, 10]) }
        #expect(latin1.message.contains("UTF-8"))
        #expect((latin1.line, latin1.column) == (2, 2))
        let utf16 = try #require(throws: CSVProblem.self) { try rows([0xFF, 0xFE, 0x41, 0x00]) }
        #expect(utf16.message.contains("UTF-8"))
    }

    @Test func `One endless line, too many columns and too many rows are refused in bounded memory`() throws {
        var reader = CSVReader()
        let chunk = [UInt8](repeating: 65, count: 10_000)
        let long = try #require(throws: CSVProblem.self) { for _ in 0..<10_000 { _ = try reader.read(chunk) } }
        #expect(long.message.contains("65536 bytes"))
        #expect(throws: CSVProblem.self) { try rows(utf8("a,b,c\n"), .init(columns: 2)) }
        #expect(throws: CSVProblem.self) { try rows(utf8("a\nb\nc\n"), .init(rows: 2)) }
    }

    @Test func `A byte order mark, both line ends and empty lines are read`() throws {
        let found = try rows([0xEF, 0xBB, 0xBF] + utf8("a,\"b\n\"\"c\"\r\n\r\n\"\"\nd"))
        #expect(found == [.init(line: 1, cells: ["a", "b\n\"c"]), .init(line: 4, cells: [""]), .init(line: 5, cells: ["d"])])
    }

    @Test func `Formulas are made text and come back, whatever stands in front`() {
        for text in ["=1+1", "+a", "-5", "@x", "'=a", "''=a", "\tx", "＝1"] {
            let cell = SpreadsheetGuard.protect(text)
            #expect(cell == "'" + text)
            #expect(SpreadsheetGuard.restore(cell) == text)
        }
        for text in ["", "'", "'tis", "a=b", "''"] {
            #expect(SpreadsheetGuard.protect(text) == text)
            #expect(SpreadsheetGuard.restore(text) == text)
        }
    }

    @Test func `Every row that is wrong is named, and nothing else is lost`() {
        let text =
            Self.header + "Read,2025-01-01,Completed,,\r\nRead,2025-13-01,Completed,,\r\nRead,2030-01-01,Completed,,\r\n"
            + "Read,2025-01-02,Done,,\r\nRead,2025-01-03,Partial,,\r\nRead,2025-01-03,Completed,0,\r\n ,2025-01-03,Completed,,\r\nx\r\n"
        let found = HabitCSVImport.read(utf8(text), context)
        #expect(
            found.problems.errors.map(\.place)
                == ["line 3, column 2", "line 4", "line 5, column 3", "line 6", "line 7, column 4", "line 8", "line 9"]
        )
        #expect(found.problems.errorCount == 7)
        #expect(found.habits.map(\.name) == ["Read"])
    }

    @Test func `A file without the header is refused`() {
        for text in ["", "a,b\n", "Habit Name,Date\n", "Read,2025-01-01,Completed,,\n"] {
            let found = HabitCSVImport.read(utf8(text), context)
            #expect(found.problems.errorCount == 1, "\(text)")
            #expect(found.habits.isEmpty)
        }
    }

    @Test func `Targets are found that make the statuses true`() throws {
        let text =
            Self.header + "Run,2025-01-01,Partial,3,\r\nRun,2025-01-02,Completed,5,\r\nRun,2025-01-03,Partial,5,\r\n"
            + "Run,2025-01-04,Completed,4,\r\nRun,2025-01-04,Completed,4,\r\n"
        let habit = try #require(HabitCSVImport.read(utf8(text), context).habits.first)
        #expect(habit.versions.map(\.target) == [Amount(thousandths: 5000), Amount(thousandths: 8000)])
        #expect(HabitCSVExport.write([habit]) == utf8(text))
    }

    @Test func `A date whose completion has no value had no target, whatever others had`() throws {
        let text =
            Self.header + "Run,2025-01-01,Completed,,\r\nRun,2025-01-02,Completed,7,\r\nRun,2025-01-03,Partial,3,\r\n"
            + "Run,2025-01-04,Completed,5,\r\nRun,2025-01-05,Completed,,\r\n"
        let habit = try #require(HabitCSVImport.read(utf8(text), context).habits.first)
        #expect(habit.versions.map(\.target) == [nil, Amount(thousandths: 5000), nil])
        #expect(habit.versions.map { "\($0.from)" } == ["2025-01-01", "2025-01-03", "2025-01-05"])
        #expect(HabitCSVExport.write([habit]) == utf8(text))
        let most = "1000000000"
        let beyond = Self.header + "Run,2025-01-01,Partial,\(most),\r\nRun,2025-01-01,Partial,\(most),\r\n"
        let versions = HabitCSVImport.read(utf8(beyond), context).habits.first?.versions
        #expect(versions?.map(\.target) == [Amount.largest])
    }

    @Test func `Dates of the app's own export are those of the person's zone`() throws {
        let zone = try #require(Zone("+05:00"))
        let text = Self.header + "\"Read\",\"2025-01-01T20:30:00.000Z\",\"Completed\",\"\",\"\"\n"
        let found = HabitCSVImport.read(utf8(text), HabitFileContext(today: context.today, zone: zone))
        #expect(found.habits.first?.completions.map(\.date) == [try #require(CalendarDate("2025-01-02"))])
    }

    @Test func `A range and the wish for no notes are kept to`() throws {
        let text = Self.header + "Read,2025-01-01,Completed,,a\r\nRead,2025-01-02,Completed,,b\r\nRead,2025-01-03,Skipped,,\r\n"
        let habits = HabitCSVImport.read(utf8(text), context).habits
        let second = try #require(CalendarDate("2025-01-02"))
        let cut = HabitCSVExport.write(habits, .init(from: second, to: second, includesNotes: false))
        #expect(cut == utf8(Self.header + "Read,2025-01-02,Completed,,\r\n"))
    }

    @Test(arguments: TestDepth.seeds(quick: 200, full: 5_000))
    func `Damaged files never trap, and are reported`(seed: UInt64) {
        var samples = HabitFileSamples(seed)
        let bytes = samples.damaged(HabitCSVExport.write(samples.habits()))
        let found = HabitCSVImport.read(bytes, samples.context)
        #expect(found.problems.errors.count <= HabitFileProblems.most)
        #expect(found.habits.allSatisfy { !$0.name.isEmpty && !$0.versions.isEmpty })
    }
}
