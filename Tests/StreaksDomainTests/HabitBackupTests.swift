import Foundation
import Kernel
import Processes
import StreaksDomain
import TestSupport
import Testing

/// The document of a backup: written, read again, and checked (HA-6).
@Suite struct HabitBackupTests {
    private let context = HabitFileContext(today: CalendarDate(dayNumber: 20_500), zone: .utc)

    private static func document(_ habits: [FileHabit], _ kind: HabitBackupWriter.Kind = .backup) -> [UInt8] {
        var settings = HabitSettings()
        (settings.theme, settings.firstDayOfWeek, settings.accentColor) = (.dark, 6, "#102030")
        (settings.haptics, settings.reminderMinute) = (false, 545)
        var writer = HabitBackupWriter(
            kind,
            of: UserID(high: 1, low: 2),
            at: .epoch,
            settings: settings,
            categories: [.init(id: "c-1", name: "Health", color: "#00FF00", icon: "heart"), .init(id: "c-2", name: "=Work")],
            dayNotes: [CalendarDate(dayNumber: 20_000): "fine\n\"day\""]
        )
        for habit in habits { writer.add(habit) }
        writer.finish()
        return writer.drain()
    }

    @Test(arguments: TestDepth.seeds(quick: 40, full: 400))
    func `A backup comes back as it was`(seed: UInt64) {
        var samples = HabitFileSamples(seed)
        var habits = samples.habits()
        for index in habits.indices where samples.random.chance(50) { habits[index].category = samples.random.pick([0, 1]) }
        let found = HabitBackupReader.read(Self.document(habits), samples.context)
        #expect(found.problems.errors == [])
        #expect(found.habits == habits)
        #expect(found.categories.map(\.name) == ["Health", "=Work"])
        #expect(found.dayNotes == [CalendarDate(dayNumber: 20_000): "fine\n\"day\""])
        #expect(found.settings?.theme == .dark)
        #expect(found.settings?.firstDayOfWeek == 6)
        #expect(found.settings?.haptics == false)
        #expect(found.settings?.reminderMinute == 545)
        #expect(found.account == UserID(high: 1, low: 2))
    }

    @Test func `A habit comes into the archive and out of it up to tomorrow, which was today further east`() {
        let today = context.today
        var habit = FileHabit(name: "Run", versions: [.init(from: today.advanced(by: -9), schedule: .daily, weekStart: 1)])
        let spans: [(from: Int, until: Int?, isRight: Bool)] = [
            (0, nil, true), (-3, 1, true), (1, 1, true), (2, nil, false), (0, 2, false),
        ]
        for (from, until, isRight) in spans {
            habit.archivings = [.init(from: today.advanced(by: from), until: until.map { today.advanced(by: $0) })]
            let errors = HabitBackupReader.read(Self.document([habit]), context).problems.errors
            #expect(errors.map(\.place) == (isRight ? [] : ["data.habits[0].archivings[0]"]), "\(from)")
        }
    }

    @Test(arguments: ["versions", "archivings", "pauses"])
    func `A habit with thousands of versions, pauses or times in the archive is refused`(member: String) {
        let first = context.today.advanced(by: -2_000)
        func habit(_ count: Int) -> FileHabit {
            var habit = FileHabit(name: "Run", versions: [.init(from: first, schedule: .daily, weekStart: 1)])
            let dates = (0..<count).map { first.advanced(by: $0) }
            switch member {
            case "versions": habit.versions = dates.map { .init(from: $0, schedule: .daily, weekStart: 1) }
            case "archivings": habit.archivings = dates.map { .init(from: $0, until: $0) }
            default: habit.pauses = dates.map { .init(from: $0, until: $0.advanced(by: 1)) }
            }
            return habit
        }
        #expect(HabitBackupReader.read(Self.document([habit(1_000)]), context).problems.errors == [])
        let refused = HabitBackupReader.read(Self.document([habit(1_001)]), context).problems.errors
        #expect(refused == [.init(place: "data.habits[0].\(member)", message: "must be at most 1000")])
    }

    @Test func `A document names the photo of a date, and the photo itself is in none`() {
        let date = CalendarDate(dayNumber: 20_000)
        let photo = HabitPhotoID(high: 3, low: 4)
        var habit = FileHabit(name: "Run", versions: [.init(from: date, schedule: .daily, weekStart: 1)])
        habit.completions = [.init(id: CompletionID(high: 1, low: 1), date: date, photo: photo)]
        let document = Self.document([habit])
        #expect(String(decoding: document, as: UTF8.self).contains("\"photo_id\":\"\(photo)\""))
        let found = HabitBackupReader.read(document, context)
        #expect(found.problems.errors == [] && found.problems.warnings == [])
        habit.completions[0].photo = nil
        #expect(found.habits == [habit])
    }

    @Test(arguments: TestDepth.seeds(quick: 3, full: 30))
    func `Python reads the document, and what Python writes of it is read`(seed: UInt64) async throws {
        var samples = HabitFileSamples(seed)
        let habits = samples.habits()
        let script = """
            import json, sys
            document = json.load(sys.stdin.buffer)
            assert document["version"] == "2.0" and document["kind"] == "backup"
            json.dump(document, sys.stdout, ensure_ascii=True, indent=3)
            """
        let result = try await run("python3", ["-c", script], input: Self.document(habits))
        try #require(result.status == 0, "\(result.transcript)")
        #expect(HabitBackupReader.read(Array(result.output), samples.context).habits == habits)
    }

    @Test func `Everything that is wrong is named with its path`() {
        let text = """
            {"version":"2.0","data":{"categories":[{"id":"a"}],"colour":1,"habits":[
              {"name":"  ","versions":[{"from":"2025-01-01","schedule":{"type":"weekdays","days":[]}}]},
              {"name":"Read","category_id":"b","color":"red","versions":[{"from":"2025-01-01","schedule":{"type":"daily"}},
                {"from":"2025-01-01","schedule":{"type":"hourly"}}],"skips":["2031-01-01"],
               "completions":[{"date":"2025-01-01","value":0.1},{"date":"2025-1-1"},{"value":-1,"date":"2025-01-01","mood":"fine"},
                 {"date":"2025-01-01","value":0.0001,"id":"x"}]}]}}
            """
        let problems = HabitBackupReader.read(utf8(text), context).problems
        #expect(
            Set(problems.errors.map(\.place)) == [
                "data.categories[0].name", "data.colour", "data.habits[0].name", "data.habits[0].versions[0].schedule",
                "data.habits[0].versions", "data.habits[1].category_id", "data.habits[1].color",
                "data.habits[1].versions[1].schedule.type", "data.habits[1].versions[1]", "data.habits[1].skips[0]",
                "data.habits[1].completions[1].date", "data.habits[1].completions[2].value",
                "data.habits[1].completions[2].mood", "data.habits[1].completions[3].value",
                "data.habits[1].completions[3].id",
            ]
        )
    }

    @Test(arguments: [
        ("{\"version\":\"3.0\",\"data\":{}}", "version", "“3.0” is unknown"), ("{\"data\":{}}", "version", "is needed"),
        ("{\"version\":\"2.0\"}", "data", "is needed"), ("[]", "", "must be a object"), ("", "", "ends where"),
        ("{\"version\":\"2.0\",\"data\":{\"habits\":[{]}}", "data.habits[0]", "needs a name"),
        ("{\"version\":\"2.0\",\"kind\":\"export\",\"data\":{}}", "kind", "is an export"),
    ])
    func `Documents that are none of ours are refused`(text: String, place: String, message: String) throws {
        let error = try #require(HabitBackupReader.read(utf8(text), context).problems.errors.first)
        #expect(error.place == place)
        #expect(error.message.contains(message), "\(error.message)")
    }

    @Test func `A document of the first version of the app is read`() throws {
        let text = """
            {"version":"1.0","createdAt":"2025-02-01T00:00:00.000Z","data":{"completions":[
               {"id":"0190a1b2-0000-7000-8000-000000000001","habitId":"h1","completedAt":"2025-01-02T20:30:00.000Z","value":5,"skipped":false,"mood":"great"},
               {"id":"k","habitId":"h1","completedAt":"2025-01-03T20:30:00.000Z","skipped":true},
               {"id":"l","habitId":"h2","completedAt":"2025-01-03T20:30:00.000Z","value":0,"skipped":false,"createdAt":"x"}],
             "habits":[
               {"id":"h1","name":"Run","frequency":"custom","customFrequency":{"type":"specific_days","days":[5,6]},"targetValue":5,"unit":"km",
                "categoryId":"c","archived":true,"archivedAt":"2025-01-20T00:00:00Z","createdAt":"2025-01-01T00:00:00Z","order":2,"isPremium":false},
               {"id":"h2","name":"Read","frequency":"weekly","createdAt":"2025-01-01T00:00:00Z","archived":false,"order":1,"reminderTime":"08:30"},
               {"id":"h3","name":"Walk","frequency":"custom","customFrequency":{"type":"interval","interval":3},"createdAt":"2025-01-01T00:00:00Z","order":3},
               {"id":"h4","name":"Swim","frequency":"custom","customFrequency":{"type":"flexible","targetCount":3},"createdAt":"2025-01-01T00:00:00Z","order":4},
               {"id":"h5","name":"Sit","frequency":"daily","createdAt":"2025-01-01T00:00:00Z","order":5}],
             "categories":[{"id":"c","name":"Health","color":"#00FF00","icon":"heart","order":1,"isCustom":false}],
             "settings":{"id":"default","theme":"auto","firstDayOfWeek":0,"premiumUnlocked":true}}}
            """
        let zone = try #require(Zone("+05:00"))
        let found = HabitBackupReader.read(utf8(text), HabitFileContext(today: context.today, zone: zone))
        #expect(found.problems.errors == [])
        let start = try #require(CalendarDate("2025-01-01"))
        #expect(found.habits.map(\.name) == ["Read", "Run", "Walk", "Swim", "Sit"])
        #expect(
            found.habits.map { $0.versions.map(\.schedule) }
                == [[.timesPerWeek(1)], [.weekdays([5, 6])], [.everyNthDate(3, from: start)], [.timesPerWeek(3)], [.daily]]
        )
        let run = found.habits[1]
        #expect(run.completions.map(\.date) == [start.advanced(by: 2)])
        #expect(run.completions.map(\.id) == [CompletionID("0190a1b2-0000-7000-8000-000000000001")])
        #expect(run.skips == [start.advanced(by: 3)])
        #expect(run.category == 0)
        #expect(run.archivings == [.init(from: start.advanced(by: 19))])
        #expect(found.habits[0].completions.map(\.amount) == [nil])
        #expect(found.habits[0].reminder == .init(storedMinute: 510, days: nil))
        #expect(found.settings?.firstDayOfWeek == 0)
    }

    @Test func `The first version's mistakes are named with their paths`() {
        let text = """
            {"version":"1.0","data":{"habits":[{"id":"h1","name":"Run","frequency":"custom","customFrequency":{"type":"lunar"}}],
             "completions":[{"habitId":"h9","completedAt":"2025-01-02T20:30:00Z"},{"habitId":"h1","completedAt":"yesterday"},
               {"habitId":"h1","completedAt":"2031-01-02T20:30:00Z"},{"habitId":"h1","completedAt":"2025-01-02T20:30:00Z","value":-2}]}}
            """
        let problems = HabitBackupReader.read(utf8(text), context).problems
        #expect(
            Set(problems.errors.map(\.place)) == [
                "data.habits[0].frequency", "data.completions[0].habitId", "data.completions[1].completedAt",
                "data.completions[2].completedAt", "data.completions[3].value",
            ]
        )
    }

    @Test func `Equal names get a number, and stay within their length`() {
        let name = String(repeating: "n", count: 50)
        let text = """
            {"version":"2.0","data":{"habits":[
              {"name":"\(name)","versions":[{"from":"2025-01-01","schedule":{"type":"daily"}}]},
              {"name":" \(name.uppercased()) ","versions":[{"from":"2025-01-01","schedule":{"type":"daily"}}]}]}}
            """
        let found = HabitBackupReader.read(utf8(text), context)
        #expect(found.problems.errors == [])
        #expect(found.habits.map(\.name) == [name, String(repeating: "N", count: 46) + " (2)"])
    }

    @Test(arguments: [
        ("1.0", "\"frequency\":\"daily\",\"categoryId\""),
        ("2.0", "\"versions\":[{\"from\":\"2025-01-01\",\"schedule\":{\"type\":\"daily\"}}],\"category_id\""),
    ])
    func `An id that is there twice, once in capitals, is found before anything is stored`(version: String, habit: String) {
        let id = "0190a1b2-0000-7000-8000-00000000000a"
        let other = id.uppercased()
        let text = """
            {"version":"\(version)","data":{"categories":[{"id":"\(id)","name":"Health"},{"id":"\(other)","name":"Work"}],
             "habits":[{"id":"\(id)","name":"Read",\(habit):"\(id)"},{"id":"\(other)","name":"Run",\(habit):"\(other)"}]}}
            """
        let found = HabitBackupReader.read(utf8(text), context)
        #expect(found.problems.errors.map(\.place).sorted() == ["data.categories[1].id", "data.habits[1].id"])
        #expect(found.habits.allSatisfy { $0.category == 0 })
    }

    @Test(arguments: TestDepth.seeds(quick: 20, full: 200))
    func `A taken name gets the first number that is free, within its length`(seed: UInt64) {
        var random = Seeded(seed)
        var (taken, model): (TakenNames, Set<String>) = (TakenNames(), [])
        for _ in 0..<150 {
            let name = random.pick(["Run", "run", "Run (2)", "Run (3)", "Runner!", "Ru", "e\u{301}\u{302}eeeeee"])
            var (wanted, number) = (name, 2)
            while model.contains(HabitText.key(wanted)) {
                let suffix = " (\(number))"
                wanted = HabitFileRules.trimmed(String(name.prefix(7 - suffix.count))) + suffix
                number += 1
            }
            let got = taken.take(name, most: 7)
            #expect(got == wanted, "seed \(seed)")
            model.insert(HabitText.key(got))
        }
    }

    @Test(.timeLimit(.minutes(1))) func `Thousands of equal names are numbered without trying all numbers for each`() {
        let name = String(repeating: "👩‍👩‍👧", count: 50)
        var taken = TakenNames()
        let names = (0..<10_000).map { _ in taken.take(name, most: 50) }
        #expect(Set(names).count == 10_000)
        #expect(names.allSatisfy { $0.count == 50 })
        #expect(names.last?.hasSuffix(" (10000)") == true)
    }

    @Test func `Limits of length count characters as people do`() {
        let family = String(repeating: "👩‍👩‍👧", count: 50)
        func problems(_ name: String) -> Int {
            let text =
                "{\"version\":\"2.0\",\"data\":{\"habits\":[{\"name\":\"\(name)\",\"versions\":[{\"from\":\"2025-01-01\",\"schedule\":{\"type\":\"daily\"}}]}]}}"
            return HabitBackupReader.read(utf8(text), context).problems.errorCount
        }
        #expect(problems(family) == 0)
        #expect(problems(family + "a") == 1)
        #expect(problems(String(repeating: "e\u{301}\u{302}", count: 50)) == 0)
    }

    @Test(arguments: TestDepth.seeds(quick: 200, full: 5_000))
    func `Damaged documents never trap, and are reported`(seed: UInt64) {
        var samples = HabitFileSamples(seed)
        let found = HabitBackupReader.read(samples.damaged(Self.document(samples.habits())), samples.context)
        #expect(found.problems.errors.count <= HabitFileProblems.most)
        if found.problems.errorCount == 0 {
            #expect(found.habits.allSatisfy { !$0.name.isEmpty && !$0.versions.isEmpty })
        }
    }

    @Test func `Bombs are refused: depth, members, and errors without end`() {
        let deep = utf8("{\"version\":\"2.0\",\"data\":" + String(repeating: "[", count: 100_000))
        #expect(HabitBackupReader.read(deep, context).problems.errors.first?.message.contains("deeper") == true)
        let wide = utf8("{" + (0..<1_000).map { "\"m\($0)\":1" }.joined(separator: ",") + "}")
        #expect(HabitBackupReader.read(wide, context).problems.errors.first?.message.contains("more than 100 members") == true)
        let wrong = utf8("{\"version\":\"2.0\",\"data\":{\"habits\":[" + String(repeating: "7,", count: 5_000) + "7]}}")
        let problems = HabitBackupReader.read(wrong, context).problems
        #expect(problems.errors.count == HabitFileProblems.most)
        #expect(problems.errorCount == 5_001)
    }
}
