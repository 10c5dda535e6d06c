import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Files of other apps: Loop Habit Tracker's export, and any table by a mapping of its columns (HA-6).
@Suite struct HabitImportTests {
    private let context = HabitFileContext(today: CalendarDate(dayNumber: 20_500), zone: .utc)

    private static let habitsHeader =
        "Position,Name,Type,Question,Description,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,Target Value,Archived?\n"

    private func date(_ text: String) throws -> CalendarDate { try #require(CalendarDate(text)) }

    private func loop(_ files: [(String, String)]) -> HabitImport {
        LoopImport.read(files.map { LoopFile(path: $0.0, bytes: utf8($0.1)) }, context)
    }

    @Test func `Loop's newer export is read from the files of each habit`() throws {
        let found = loop([
            (
                "Habits.csv",
                Self.habitsHeader + "001,Meditate,YES_NO,Did you?,,1,1,#FF8F00,,,,false\n"
                    + "002,\"Water, cold\",NUMERICAL,,Drink,3,7,#00897B,L,AT_LEAST,2.0,true\n"
            ),
            (
                "001 Meditate/Checkmarks.csv",
                "Date,Value,Notes\n2025-01-04,YES_MANUAL,calm\n2025-01-03,SKIP,\n2025-01-02,YES_AUTO,\n2025-01-01,NO,\n2024-12-31,UNKNOWN,\n"
            ),
            ("001 Meditate/Scores.csv", "Date,Score\n2025-01-04,0.5\n"),
            ("002 Water cold/Checkmarks.csv", "Date,Value,Notes\n2025-01-04,2500,\n2025-01-03,1500,\n2025-01-02,NO,\n"),
            ("Checkmarks.csv", "Date,Meditate,Water, cold,\n2025-01-04,NO,NO,\n"),
        ])
        #expect(found.problems.errors == [])
        #expect(found.problems.warnings == [])
        #expect(found.habits.map(\.name) == ["Meditate", "Water, cold"])
        let (meditate, water) = (found.habits[0], found.habits[1])
        #expect(meditate.completions == [.init(date: try date("2025-01-04"), note: "calm")])
        #expect(meditate.skips == [try date("2025-01-03")])
        #expect(meditate.description == "Did you?")
        #expect(meditate.color == "#FF8F00")
        #expect(meditate.versions.map(\.schedule) == [.daily])
        #expect(water.versions.map(\.schedule) == [.timesPerWeek(3)])
        #expect(water.versions.map(\.target) == [Amount(thousandths: 2000)])
        #expect(water.completions.map(\.amount) == [Amount(thousandths: 1500), Amount(thousandths: 2500)])
        #expect(water.unit == "L")
        #expect(water.archivings == [.init(from: try date("2025-01-05"))])
    }

    @Test func `Loop's older export is read from the wide file, newest first, with commas in names`() throws {
        let found = loop([
            (
                "backup/Habits.csv",
                "Position,Name,Question,Description,NumRepetitions,Interval,Color\n001,Meditate,,,1,1,#FF8F00\n002,\"Wake up, early\",,,2,3,#00897B\n"
            ),
            ("backup/Checkmarks.csv", "Date,Meditate,Wake up, early,\n2015-01-25,-1,2,\n2015-01-24,3,1,\n2015-01-23,2,0,\n"),
        ])
        #expect(found.problems.errors == [])
        #expect(found.habits.map { $0.completions.map(\.date) } == [[try date("2015-01-23")], [try date("2015-01-25")]])
        #expect(found.habits[0].skips == [try date("2015-01-24")])
        let warning = try #require(found.problems.warnings.first)
        #expect(warning.place == "Habits.csv, line 3")
        #expect(warning.message.contains("2 times in 3 days has no equivalent; it becomes 4 times a week"))
        #expect(found.habits[1].versions.map(\.schedule) == [.timesPerWeek(4)])
    }

    @Test func `What Loop has and we have not is said: every n days, and at most`() throws {
        let found = loop([
            (
                "Habits.csv",
                Self.habitsHeader
                    + "001,Floss,YES_NO,,,1,3,#FF8F00,,,,false\n002,Smoke,NUMERICAL,,,1,1,#00897B,,AT_MOST,5,false\n"
            ), ("001 Floss/Checkmarks.csv", "2025-01-07,3\n2025-01-05,3\n2025-01-04,2\n"),
            ("002 Smoke/Checkmarks.csv", "Date,Value,Notes\n2025-01-04,6000,\n2025-01-03,5000,\n2025-01-02,0,\n"),
        ])
        #expect(found.problems.errors == [])
        #expect(found.habits[0].versions.map(\.schedule) == [.everyNthDate(3, from: try date("2025-01-04"))])
        // Nothing is due on the 5th.
        #expect(found.habits[0].skips == [try date("2025-01-07")])
        #expect(found.habits[1].completions.map(\.amount) == [nil, Amount(thousandths: 5000)])
        #expect(
            found.problems.warnings.map { $0.message.contains("every 3 days") || $0.message.contains("at most 5") } == [
                true, true,
            ]
        )
    }

    @Test func `Broken exports of Loop are reported with file and line`() {
        #expect(loop([]).problems.errors.first?.message.contains("has no Habits.csv") == true)
        #expect(loop([("Habits.csv", "a,b\n1,2\n")]).problems.errors.first?.place == "Habits.csv")
        let found = loop([
            ("Habits.csv", Self.habitsHeader + "001,Floss,YES_NO,,,1,1,,,,,false\n"),
            ("001 Floss/Checkmarks.csv", "Date,Value\nyesterday,2\n2025-01-04,7\n2031-01-01,2\n"),
        ])
        #expect(found.problems.errors.map(\.place) == ["001 Floss/Checkmarks.csv, line 2", "001 Floss/Checkmarks.csv, line 3"])
        #expect(found.problems.warnings.map(\.place) == ["001 Floss/Checkmarks.csv, line 4"])
        let wide = loop([
            ("Habits.csv", Self.habitsHeader + "001,Floss,YES_NO,,,1,1,,,,,false\n"),
            ("Checkmarks.csv", "Date,Other,\n2025-01-04,2,\n"),
        ])
        #expect(wide.problems.errors.map(\.place) == ["Checkmarks.csv, line 1"])
    }

    private func mapped(_ text: String, _ mapping: HabitMapping) -> HabitImport {
        var reader = HabitMappingImport(mapping, context)
        reader.read(utf8(text))
        return reader.finish()
    }

    @Test func `A table with statuses is read by the words that the caller gives`() throws {
        var mapping = HabitMapping(date: "entry_date")
        (mapping.name, mapping.status, mapping.dateFormat) = ("title", "entry_type", "yyyyMMdd")
        (mapping.completedWords, mapping.skippedWords) = (["completed_manually", "completed_auto"], ["skipped_manually"])
        let text =
            "task_id,title,icon,entry_type,entry_date,quantity\n1,Walk,x,completed_manually,20250104,0.0\n"
            + "1,Walk,x,missed_auto,20250103,0.0\n1,Walk,x,skipped_manually,20250102,0.0\n2,Read,y,completed_auto,20250101,0.0\n"
        let found = mapped(text, mapping)
        #expect(found.problems.errors == [])
        #expect(found.habits.map(\.name) == ["Walk", "Read"])
        #expect(found.habits[0].completions.map(\.date) == [try date("2025-01-04")])
        #expect(found.habits[0].skips == [try date("2025-01-02")])
        #expect(found.problems.warnings.contains { $0.message.contains("1 rows with the status “missed_auto”") })
    }

    @Test func `A table of one habit with values and points or commas is read`() throws {
        var mapping = HabitMapping(date: "Datum")
        (mapping.habitName, mapping.value, mapping.note) = ("Laufen", "km", "Notiz")
        (mapping.separator, mapping.dateFormat) = (.semicolon, "d.M.yy")
        let found = mapped("Datum;km;Notiz\n4.1.25;5,5;gut\n05.01.25 07:30;0;\n6.1.25;;\n", mapping)
        #expect(found.problems.errors == [])
        #expect(found.habits.first?.completions.map(\.amount) == [Amount(thousandths: 5500), nil])
        #expect(found.habits.first?.completions.map(\.date) == [try date("2025-01-04"), try date("2025-01-06")])
        #expect(found.habits.first?.completions.first?.note == "gut")
    }

    @Test func `A mapping that does not fit the file is refused by the name of its field`() {
        var mapping = HabitMapping(date: "Date")
        #expect(mapped("Date\n", mapping).problems.errors.map(\.place) == ["columns.name"])
        mapping.habitName = "x"
        mapping.dateFormat = "yyyy-MM"
        #expect(mapped("Date\n", mapping).problems.errors.map(\.place) == ["columns.date_format"])
        mapping.dateFormat = "yyyy-MM-dd"
        mapping.value = "Value"
        let missing = mapped("Date,Amount\n", mapping).problems.errors
        #expect(missing.map(\.place) == ["columns.value"])
        #expect(missing.first?.message.contains("its columns are “Date”, “Amount”") == true)
        mapping.value = nil
        #expect(mapped("Date,Date\n", mapping).problems.errors.map(\.place) == ["columns.date"])
        #expect(mapped("", mapping).problems.errorCount == 1)
        #expect(mapped("Date\n2025-02-30\n", mapping).problems.errors.map(\.place) == ["line 2, column 1"])
    }

    @Test(arguments: TestDepth.seeds(quick: 200, full: 5_000))
    func `Damaged files of Loop never trap`(seed: UInt64) {
        var samples = HabitFileSamples(seed)
        let files = [
            LoopFile(
                path: "Habits.csv",
                bytes: samples.damaged(
                    utf8(
                        Self.habitsHeader
                            + "001,A,YES_NO,Q,D,2,3,#FF8F00,,,,true\n002,\"B,C\",NUMERICAL,,,1,7,#00897B,L,AT_MOST,2.0,false\n"
                    )
                )
            ),
            LoopFile(
                path: "001 A/Checkmarks.csv",
                bytes: samples.damaged(utf8("Date,Value,Notes\n2025-01-04,YES_MANUAL,x\n2025-01-03,3,\n"))
            ),
            LoopFile(
                path: "Checkmarks.csv",
                bytes: samples.damaged(utf8("Date,A,B,C,\n2025-01-04,2,1500,\n2025-01-03,2,999999999999999,\n"))
            ),
        ]
        let found = LoopImport.read(files, samples.context)
        #expect(found.problems.errors.count <= HabitFileProblems.most)
        #expect(found.habits.allSatisfy { !$0.name.isEmpty && $0.versions.count == 1 })
    }
}
