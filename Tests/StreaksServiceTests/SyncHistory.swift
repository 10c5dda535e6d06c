import Kernel
import StreaksAPI
import TestSupport

/// What five devices of one person do, in order. Nothing in it depends on what became of earlier steps, so that steps can be left out.
struct SyncHistory {
    enum Step: CustomStringConvertible {
        /// A device makes a change. Dates in it are days from the device's today; `base_sequence` is of its copy then.
        case edit(Int, SyncChange)
        case sync(Int, batch: Int, limit: Int32, SyncDevice.Fault, calls: Int)
        /// Everything is replaced by these habits.
        case restore([UInt64])
        case clock(Interval)

        var description: String {
            switch self {
            case .edit(let device, let change): "device \(device): \(Self.text(change))"
            case .sync(let device, let batch, let limit, let fault, let calls):
                "device \(device) syncs \(batch) by \(limit), \(fault) at call \(calls)"
            case .restore(let habits): "restore of \(habits)"
            case .clock(let time): "the clock goes on \(time)"
            }
        }

        private static func text(_ change: SyncChange) -> String {
            var parts = [
                change.entity, change.operation, String(change.entityID.suffix(4)), String(change.habitID.suffix(4)), change.date,
            ]
            if let habit = change.habit { parts.append("\(habit)") }
            if let category = change.category { parts.append("\(category)") }
            if let completion = change.completion { parts.append("\(completion)") }
            if let pause = change.pause { parts.append("\(pause)") }
            if let settings = change.settings { parts.append("\(settings)") }
            parts += [
                change.note ?? "", change.clear.joined(separator: ","),
                change.ids.map { String($0.suffix(4)) }.joined(separator: ","),
            ]
            return parts.filter { !$0.isEmpty }.joined(separator: " ")
        }
    }

    static let deviceCount = 5
    private(set) var steps: [Step] = []

    private var random: Seeded
    /// What a device can know: who made it, and after how many steps.
    private var habits: [(id: UInt64, device: Int, at: Int)] = []
    private var categories: [(id: UInt64, device: Int, at: Int)] = []
    private var completions: [(id: UInt64, device: Int, at: Int)] = []
    private var number: UInt64 = 0

    init(seed: UInt64, length: Int = 70) {
        random = Seeded(seed)
        for _ in 0..<3 { steps.append(.edit(0, habit(by: 0))) }
        for device in 0..<Self.deviceCount { steps.append(.sync(device, batch: 10, limit: 0, .none, calls: .max)) }
        while steps.count < length { step() }
    }

    private mutating func step() {
        let device = Int.random(in: 0..<Self.deviceCount, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case ..<62: steps.append(.edit(device, edit(by: device)))
        case ..<94:
            let faults: [SyncDevice.Fault] = [.none, .none, .none, .requestLost, .replyLost, .replyLost]
            let fault = random.pick(faults)
            steps.append(
                .sync(
                    device,
                    batch: random.pick([1, 2, 3, 10]),
                    limit: random.pick([1, 2, 3, 5, 0]),
                    fault,
                    calls: fault == .none && random.chance(70) ? .max : Int.random(in: 1...4, using: &random)
                )
            )
        case ..<98: steps.append(.clock(.hours(Int64.random(in: 5...60, using: &random))))
        case 98: steps.append(.clock(.seconds(1)))
        default: restore()
        }
    }

    /// What is made afterwards is mostly of what there is then.
    private mutating func restore() {
        let kept = Array(habits.filter { _ in random.chance(50) }.prefix(2))
        steps.append(.restore(kept.map(\.id)))
        guard random.chance(80) else { return }
        (habits, completions, categories) = (kept, [], [])
        let device = Int.random(in: 0..<Self.deviceCount, using: &random)
        for _ in 0..<2 { steps.append(.edit(device, habit(by: device))) }
    }

    // MARK: changes

    private mutating func next() -> UInt64 {
        number += 1
        return number
    }

    /// One that the device can know: its own, or one that is older.
    private mutating func known(_ all: [(id: UInt64, device: Int, at: Int)], to device: Int) -> UInt64 {
        let visible = all.filter { $0.device == device || $0.at + 8 < steps.count || random.chance(5) }
        return visible.isEmpty ? 1 : random.pick(visible).id
    }

    private mutating func date() -> String { "\(random.pick([-9, -6, -3, -2, -2, -1, -1, 0, 0, 0, 0, 0, 1]))" }
    private mutating func chosen<Value>(_ percent: Int, _ values: [Value]) -> Value? {
        random.chance(percent) ? random.pick(values) : nil
    }

    private mutating func edit(by device: Int) -> SyncChange {
        let id = next()
        switch Int.random(in: 0..<100, using: &random) {
        case ..<6: return habit(by: device)
        case ..<16:
            return SyncChange(id, "habit", "update", id: "\(habitID(known(habits, to: device)))").with {
                $0.habit = fields(by: device)
                if random.chance(25) {
                    $0.clear = [random.pick(["category_id", "reminder_time", "reminder_days", "target_value"])]
                }
            }
        case ..<32:
            let operation = random.pick(["delete", "undelete", "undelete", "archive", "unarchive", "unarchive"])
            return Push.on(id, operation, known(habits, to: device))
        case ..<52:
            completions.append((id, device, steps.count))
            return Push.done(id, id, known(habits, to: device), on: date(), completion())
        case ..<60:
            return Push.edit(id, known(completions, to: device), completion()).with {
                if random.chance(20) { $0.clear = [random.pick(["value", "mood", "done_at"])] }
            }
        case ..<65: return Push.undone(id, known(completions, to: device))
        case ..<75: return Push.skip(id, known(habits, to: device), on: date(), random.pick(["create", "create", "delete"]))
        case ..<83:
            return SyncChange(id, "day_note", random.pick(["create", "update", "update", "delete"])).with {
                $0.date = date()
                if $0.operation != "delete" { $0.note = random.pick(["", "\(id)", "\(id)"]) }
            }
        case ..<88:
            return SyncChange(id, "pause", random.pick(["create", "delete"])).with {
                $0.habitID = "\(habitID(known(habits, to: device)))"
                let from = Int.random(in: -2...4, using: &random)
                guard $0.operation == "create" else { return }
                $0.pause = SyncPauseFields(from: "\(from)", until: "\(from + random.pick([0, 1, 3, 9, 91]))")
            }
        case ..<91: return order(id, by: device)
        case ..<96: return category(id, by: device)
        default:
            return SyncChange(id, "settings", "update").with {
                $0.settings = SyncSettingsFields(
                    firstDayOfWeek: chosen(30, [0, 1, 6]),
                    theme: chosen(40, ["light", "dark", "auto"]),
                    haptics: chosen(40, [true, false]),
                    dailyReminderTime: chosen(40, ["08:00", "20:30"])
                )
                guard random.chance(20) else { return }
                $0.settings?.dailyReminderTime = nil
                $0.clear = ["daily_reminder_time"]
            }
        }
    }

    private mutating func habit(by device: Int) -> SyncChange {
        let id = next()
        let change = SyncChange(id, "habit", "create", id: "\(habitID(id))").with {
            var fields = fields(by: device)
            fields.name = fields.name ?? "Habit"
            $0.habit = fields
        }
        habits.append((id, device, steps.count))
        return change
    }

    private mutating func fields(by device: Int) -> SyncHabitFields {
        let schedules = [
            SyncSchedule(type: "daily"), SyncSchedule(type: "weekdays", weekdays: [1, 2, 4, 6]),
            SyncSchedule(type: "times_per_week", times: 3),
            SyncSchedule(type: "days_of_month", days: [1, 7, 8, 9, 15, 31]),
        ]
        return SyncHabitFields(
            name: chosen(35, ["Read", "Walk", "read", "WALK", "Habit", ""]),
            description: chosen(20, ["", "a", "b"]),
            color: chosen(20, ["#06B6D4", "#10B981"]),
            icon: chosen(20, ["book", "walk"]),
            categoryID: random.chance(25) ? "\(categoryID(known(categories, to: device)))" : nil,
            unit: chosen(20, ["", "km"]),
            reminderTime: chosen(20, ["07:00", "21:00"]),
            reminderDays: chosen(15, [[1], [0, 6]]) ?? [],
            schedule: chosen(25, schedules),
            targetValue: chosen(25, [2, 5])
        )
    }

    private mutating func completion() -> SyncCompletionFields {
        SyncCompletionFields(
            value: chosen(50, [1, 2, 5, 5, -1]),
            note: chosen(40, ["", "a", "b"]),
            mood: chosen(40, ["great", "bad"]),
            // By clocks that are wrong.
            doneAt: chosen(30, [.epoch, Instant(seconds: 1_900_000_000), Instant(seconds: 1_767_614_400)])
        )
    }

    private mutating func order(_ id: UInt64, by device: Int) -> SyncChange {
        let isOfHabits = random.chance(60)
        let count = Int.random(in: 1...4, using: &random)
        var ids: [String] = []
        for _ in 0..<count {
            let id = isOfHabits ? "\(habitID(known(habits, to: device)))" : "\(categoryID(known(categories, to: device)))"
            if !ids.contains(id) { ids.append(id) }
        }
        return SyncChange(id, isOfHabits ? "habit_order" : "category_order", "update").with { $0.ids = ids }
    }

    private mutating func category(_ id: UInt64, by device: Int) -> SyncChange {
        var operation = random.pick(["create", "create", "update", "delete"])
        if categories.isEmpty { operation = "create" }
        let entity = operation == "create" ? id : known(categories, to: device)
        if operation == "create" { categories.append((id, device, steps.count)) }
        return SyncChange(id, "category", operation, id: "\(categoryID(entity))").with {
            guard operation != "delete" else { return }
            $0.category = SyncCategoryFields(
                name: chosen(60, ["Health", "work", "Garden", "garden"]),
                color: chosen(40, ["#06B6D4", "#10B981"]),
                icon: chosen(40, ["book", "walk"])
            )
            if operation == "create", $0.category?.name == nil { $0.category?.name = "Mine" }
        }
    }

    // MARK: shrinking

    /// The same without what it fails without: parts are left out as long as the rest fails still.
    static func shrink(_ steps: [Step], _ fails: ([Step]) async throws -> Bool) async throws -> [Step] {
        var (steps, size, left) = (steps, max(1, steps.count / 2), 150)
        while left > 0 {
            var first = 0
            while first < steps.count, left > 0 {
                let rest = Array(steps[..<first] + steps[min(steps.count, first + size)...])
                left -= 1
                if try await fails(rest) { steps = rest } else { first += size }
            }
            if size == 1 { break }
            size /= 2
        }
        return steps
    }
}
