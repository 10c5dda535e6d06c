import Bus
import Kernel
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

extension HabitWorld {
    /// The same database for another user.
    func of(_ other: UserID) -> HabitWorld {
        var world = self
        world.user = other
        return world
    }

    func sync(_ request: SyncRequest) async throws -> SyncReply {
        try await Sync(habits: habits, mutations: mutations).handle(request, context).reply
    }

    /// One call of a device with these changes, and no cursor.
    @discardableResult
    func push(_ changes: [SyncChange], device: UInt64 = 1, epoch: Int32 = 0, more: Bool = false) async throws -> SyncReply {
        let id = "\(HabitID(high: 0xD0, low: device))"
        return try await sync(
            SyncRequest(deviceID: id, schemaVersion: 1, epoch: epoch, changes: changes, hasMoreChanges: more)
        )
    }

    /// What a device has that pulls everything.
    func everything(limit: Int32 = 0) async throws -> SyncDevice {
        var device = SyncDevice(99)
        try await device.sync(limit: limit) { try await sync($0) }
        return device
    }

    /// Clears everything, and brings some habits back, as a restore does.
    func restore(_ kept: [(id: HabitID, name: String, target: Amount?)] = []) async throws {
        try await work.run(context) { [habits, user] work in
            let book = try await habits.open(user, work)
            _ = try await book.clear()
            for habit in kept {
                try await book.create(
                    HabitBook.NewHabit(try HabitDetails(name: habit.name), schedule: .daily, target: habit.target, id: habit.id)
                )
            }
        }
    }
}

func habitID(_ number: UInt64) -> HabitID { HabitID(high: 0xA0, low: number) }
func completionID(_ number: UInt64) -> CompletionID { CompletionID(high: 0xB0, low: number) }
func categoryID(_ number: UInt64) -> HabitCategoryID { HabitCategoryID(high: 0xE0, low: number) }

/// Changes as apps make them; each has the number of its change.
enum Push {
    static func habit(_ change: UInt64, _ id: UInt64, _ name: String, target: Double? = nil) -> SyncChange {
        SyncChange(change, "habit", "create", id: "\(habitID(id))").with {
            $0.habit = SyncHabitFields(name: name, targetValue: target)
        }
    }

    static func update(_ change: UInt64, _ id: UInt64, _ fields: SyncHabitFields) -> SyncChange {
        SyncChange(change, "habit", "update", id: "\(habitID(id))").with { $0.habit = fields }
    }

    static func on(_ change: UInt64, _ operation: String, _ id: UInt64) -> SyncChange {
        SyncChange(change, "habit", operation, id: "\(habitID(id))")
    }

    static func done(
        _ change: UInt64,
        _ id: UInt64,
        _ habit: UInt64,
        on date: String,
        _ fields: SyncCompletionFields? = nil
    ) -> SyncChange {
        SyncChange(change, "completion", "create", id: "\(completionID(id))").with {
            ($0.habitID, $0.date, $0.completion) = ("\(habitID(habit))", date, fields)
        }
    }

    static func edit(_ change: UInt64, _ id: UInt64, _ fields: SyncCompletionFields) -> SyncChange {
        SyncChange(change, "completion", "update", id: "\(completionID(id))").with { $0.completion = fields }
    }

    static func undone(_ change: UInt64, _ id: UInt64) -> SyncChange {
        SyncChange(change, "completion", "delete", id: "\(completionID(id))")
    }

    static func skip(_ change: UInt64, _ habit: UInt64, on date: String, _ operation: String = "create") -> SyncChange {
        SyncChange(change, "skip", operation).with { ($0.habitID, $0.date) = ("\(habitID(habit))", date) }
    }

    static func note(_ change: UInt64, _ text: String, on date: String, base: Int64? = nil) -> SyncChange {
        SyncChange(change, "day_note", base == nil ? "create" : "update").with {
            ($0.note, $0.date, $0.baseSequence) = (text, date, base ?? 0)
        }
    }
}

extension SyncReply {
    /// The answers in short: `applied`, `merged`, or the code of the refusal; repeated ones with a `*`.
    var answers: [String] {
        results.map { ($0.code ?? $0.outcome.name) + ($0.repeated ? "*" : "") }
    }
}
