import Kernel
import StreaksDomain
import TestSupport

/// Random habits with nasty texts, as files must carry them.
struct HabitFileSamples {
    var random: Seeded
    let context = HabitFileContext(today: CalendarDate(dayNumber: 20_500), zone: .utc)

    init(_ seed: UInt64) { random = Seeded(seed) }

    /// Pieces that formats stumble over.
    static let pieces = [
        "=", "+", "-", "@", "'", "''", "\"", "\"\"", ",", ";", "\t", "\r", "\n", "\r\n", " ", "a", "Ω", "👩‍👩‍👧", "e\u{301}", "é",
        "\\", "/",
        "null", "0", "{", "]", "\u{1}", "\u{7f}", "\u{202e}", "\u{2028}", "\u{feff}", "＝", "ß", "\u{200b}", "#", "%", "<b>",
    ]

    mutating func text(_ most: Int) -> String {
        let count = Int.random(in: 0...8, using: &random)
        while true {
            let text = (0..<count).map { _ in random.pick(Self.pieces) }.joined()
            if let text = try? HabitText.text(text, field: "", most: most) { return text }
        }
    }

    mutating func name() -> String {
        while true {
            if let name = try? HabitText.name(text(45), field: "", most: 45) { return name }
        }
    }

    mutating func date(_ days: Int = 400) -> CalendarDate {
        context.today.advanced(by: -Int.random(in: 0..<days, using: &random))
    }

    mutating func amount() -> Amount {
        Amount(
            thousandths: random.chance(80)
                ? Int64.random(in: 1...30, using: &random) * 500 : Int64.random(in: 1...1_000_000_000_000, using: &random)
        )
    }

    func id<Kind>(_: Kind.Type, _ random: inout Seeded) -> ID<Kind> { ID(high: random.next(), low: random.next()) }

    mutating func schedule() -> Schedule {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: .daily
        case 1: .weekdays(Set((0..<Int.random(in: 1...7, using: &random)).map { _ in Int.random(in: 0...6, using: &random) }))
        case 2: .everyNthDate(Int.random(in: 1...365, using: &random), from: date())
        case 3: .daysOfMonth(Set((0..<Int.random(in: 1...9, using: &random)).map { _ in Int.random(in: 1...31, using: &random) }))
        default: .timesPerWeek(Int.random(in: 1...7, using: &random))
        }
    }

    /// A habit with everything that may be there; its name is in no other one's way.
    mutating func habit(_ taken: inout TakenNames) -> FileHabit {
        let first = date()
        var froms = Set((0..<Int.random(in: 1...3, using: &random)).map { _ in date() })
        froms.insert(first)
        let versions = froms.sorted().map { from in
            HabitEntries.Version(
                from: from,
                schedule: schedule(),
                target: random.chance(60) ? amount() : nil,
                weekStart: Int.random(in: 0...6, using: &random)
            )
        }
        var habit = FileHabit(
            id: id(Tag.Habit.self, &random),
            name: taken.take(name(), most: HabitFileRules.nameLength),
            versions: versions
        )
        habit.description = text(200)
        if random.chance(50) { habit.color = "#00FFA9" }
        if random.chance(50) { habit.icon = "heart-2" }
        habit.unit = (try? HabitText.line(text(20), field: "", most: 20)) ?? ""
        if random.chance(50) {
            habit.reminder = .init(
                storedMinute: Int.random(in: 0..<1440, using: &random),
                days: random.chance(50) ? [0, 6] : nil
            )
        }
        if random.chance(50) {
            habit.createdAt = Instant(microseconds: Int64.random(in: 0...1_700_000_000_000_000, using: &random))
        }
        if random.chance(30) {
            let end = min(first.advanced(by: 3), context.today)
            habit.archivings = [.init(from: first, until: end), .init(from: end)]
        }
        if random.chance(30) { habit.pauses = [.init(from: first, until: first.advanced(by: 90))] }
        for _ in 0..<Int.random(in: 0...10, using: &random) {
            let date = date()
            if habit.version(on: date)?.schedule.includes(date) ?? false { habit.skips.insert(date) }
        }
        habit.completions = completions(habit)
        return habit
    }

    private mutating func completions(_ habit: FileHabit) -> [FileHabit.Completion] {
        var found: [FileHabit.Completion] = []
        for date in Set((0..<Int.random(in: 0...40, using: &random)).map { _ in date() }).sorted() {
            let hasTarget = habit.version(on: date)?.target != nil
            for _ in 0..<(hasTarget ? Int.random(in: 1...3, using: &random) : 1) {
                found.append(
                    .init(
                        id: id(Tag.Completion.self, &random),
                        date: date,
                        amount: hasTarget || random.chance(40) ? amount() : nil,
                        note: random.chance(50) ? text(100) : "",
                        mood: random.chance(30) ? random.pick(HabitMood.allCases) : nil,
                        at: random.chance(50) ? Instant(seconds: Int64(date.dayNumber) * 86_400 + 3_600) : nil
                    )
                )
            }
        }
        return found
    }

    mutating func habits() -> [FileHabit] {
        var taken = TakenNames()
        return (0..<Int.random(in: 1...6, using: &random)).map { _ in habit(&taken) }
    }

    /// Cuts, flips, doubles and drops bytes.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes.removeLast(bytes.count - place)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
            case 4: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 20)], at: place)
            default: bytes[place] = random.pick([0, 10, 13, 34, 44, 91, 93, 123, 125, 255])
            }
        }
        return bytes
    }
}

extension HabitCSVImport {
    static func read(_ bytes: [UInt8], _ context: HabitFileContext) -> HabitImport {
        var reader = HabitCSVImport(context)
        // In pieces, as they arrive.
        for start in stride(from: 0, to: bytes.count, by: 7) { reader.read(bytes[start..<min(start + 7, bytes.count)]) }
        return reader.finish()
    }
}

extension HabitCSVExport {
    static func write(_ habits: [FileHabit], _ range: HabitExportRange = HabitExportRange()) -> [UInt8] {
        var export = HabitCSVExport(range)
        for habit in habits { export.add(habit) }
        return export.drain()
    }
}

func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }
