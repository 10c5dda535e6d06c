internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// A change that a device has made, read and checked as far as that needs nothing stored.
enum DeviceChange: Sendable {
    case createHabit(HabitID, HabitFields)
    case updateHabit(HabitID, HabitFields)
    case deleteHabit(HabitID)
    case undeleteHabit(HabitID)
    case archiveHabit(HabitID)
    case unarchiveHabit(HabitID)
    case createCategory(HabitCategoryID, CategoryFields)
    case updateCategory(HabitCategoryID, CategoryFields)
    case deleteCategory(HabitCategoryID)
    case createCompletion(CompletionID, HabitID, CalendarDate, CompletionFields)
    case updateCompletion(CompletionID, CompletionFields)
    case deleteCompletion(CompletionID)
    case skip(HabitID, CalendarDate)
    case unskip(HabitID, CalendarDate)
    case pause(HabitID, from: CalendarDate, until: CalendarDate)
    case resume(HabitID)
    case orderHabits([HabitID])
    case orderCategories([HabitCategoryID])
    case settings(SettingsFields)
    /// `base` is the number of the note that the device knew; nil when it wrote a new one.
    case note(String, on: CalendarDate, base: Int64?)

    /// The habit that it names itself.
    var habit: HabitID? {
        switch self {
        case .createHabit(let id, _), .updateHabit(let id, _), .deleteHabit(let id), .undeleteHabit(let id),
            .archiveHabit(let id), .unarchiveHabit(let id), .createCompletion(_, let id, _, _), .skip(let id, _),
            .unskip(let id, _), .pause(let id, _, _), .resume(let id):
            id
        default: nil
        }
    }

    var completion: CompletionID? {
        switch self {
        case .createCompletion(let id, _, _, _), .updateCompletion(let id, _), .deleteCompletion(let id): id
        default: nil
        }
    }

    /// The categories that it names.
    var categories: [HabitCategoryID] {
        switch self {
        case .createHabit(_, let fields), .updateHabit(_, let fields): [fields.category].compactMap(\.self)
        case .createCategory(let id, _), .updateCategory(let id, _), .deleteCategory(let id): [id]
        case .orderCategories(let ids): ids
        default: []
        }
    }
}

extension DeviceChange {
    /// - Parameter newest: the newest number that a device can know.
    /// - Throws: `VALIDATION_ERROR` naming the field.
    init(_ sent: SyncChange, newest: Int64) throws {
        guard sent.baseSequence <= newest else {
            throw ServiceError.validation(field: "base_sequence", "is later than anything the server has sent")
        }
        let reader = ChangeReader(sent: sent)
        switch (sent.entity, sent.operation) {
        case ("habit", _): self = try reader.habit()
        case ("category", _): self = try reader.category()
        case ("completion", _): self = try reader.completion()
        case ("skip", "create"): self = try reader.allowing("habit_id", "date") { .skip(try $0.habitID(), try $0.date()) }
        case ("skip", "delete"): self = try reader.allowing("habit_id", "date") { .unskip(try $0.habitID(), try $0.date()) }
        case ("pause", "create"): self = try reader.allowing("habit_id", "pause") { try $0.pause() }
        case ("pause", "delete"): self = try reader.allowing("habit_id") { .resume(try $0.habitID()) }
        case ("habit_order", "update"): self = try reader.allowing("ids") { .orderHabits(try $0.ids()) }
        case ("category_order", "update"): self = try reader.allowing("ids") { .orderCategories(try $0.ids()) }
        case ("settings", "update"):
            self = try reader.allowing("settings", "clear") { .settings(try SettingsFields($0.sent)) }
        case ("day_note", "create"), ("day_note", "update"):
            self = try reader.allowing("date", "note") { reader in
                guard let note = reader.sent.note else { throw ServiceError.validation(field: "note", "is needed") }
                let base = sent.operation == "update" && sent.baseSequence > 0 ? sent.baseSequence : nil
                return .note(note, on: try reader.date(), base: base)
            }
        case ("day_note", "delete"): self = try reader.allowing("date") { .note("", on: try $0.date(), base: nil) }
        default: throw reader.unknown
        }
    }
}

extension DeviceChange {
    /// A refusal with all that is wrong with a change, as far as its fields say it by themselves.
    ///
    /// - Parameter first: what was found first.
    static func refusal(of sent: SyncChange, _ first: ServiceError) -> ServiceError {
        guard first.reason == "VALIDATION_ERROR" else { return first }
        let reader = ChangeReader(sent: sent)
        return .validation(
            FieldCheck.problems { check in
                _ = try check.take { try ChangeID(parsing: sent.changeID, field: "change_id") }
                _ = try check.take { () throws -> Void in throw first }
                try reader.check(&check)
            }
        )
    }
}

/// Reads the fields of a change.
private struct ChangeReader {
    let sent: SyncChange

    private static let operations = [
        "habit": ["create", "update", "delete", "undelete", "archive", "unarchive"],
        "category": ["create", "update", "delete"], "completion": ["create", "update", "delete"],
        "skip": ["create", "delete"], "pause": ["create", "delete"], "habit_order": ["update"], "category_order": ["update"],
        "settings": ["update"], "day_note": ["create", "update", "delete"],
    ]

    var unknown: ServiceError {
        guard let operations = Self.operations[sent.entity] else {
            return .validation(field: "entity", "must be one of \(Self.operations.keys.sorted().joined(separator: ", "))")
        }
        return .validation(field: "operation", "must be one of \(operations.joined(separator: ", ")) for a \(sent.entity)")
    }

    func habit() throws -> DeviceChange {
        switch sent.operation {
        case "create", "update":
            try allowing("entity_id", "habit", "clear") { reader in
                let fields = try HabitFields(reader.sent)
                return sent.operation == "create"
                    ? .createHabit(try reader.entityID(), fields) : .updateHabit(try reader.entityID(), fields)
            }
        case "delete": try allowing("entity_id") { .deleteHabit(try $0.entityID()) }
        case "undelete": try allowing("entity_id") { .undeleteHabit(try $0.entityID()) }
        case "archive": try allowing("entity_id") { .archiveHabit(try $0.entityID()) }
        case "unarchive": try allowing("entity_id") { .unarchiveHabit(try $0.entityID()) }
        default: throw unknown
        }
    }

    func category() throws -> DeviceChange {
        switch sent.operation {
        case "create": try allowing("entity_id", "category") { .createCategory(try $0.entityID(), try CategoryFields($0.sent)) }
        case "update": try allowing("entity_id", "category") { .updateCategory(try $0.entityID(), try CategoryFields($0.sent)) }
        case "delete": try allowing("entity_id") { .deleteCategory(try $0.entityID()) }
        default: throw unknown
        }
    }

    func completion() throws -> DeviceChange {
        switch sent.operation {
        case "create":
            try allowing("entity_id", "habit_id", "date", "completion") { reader in
                let fields = try CompletionFields(reader.sent)
                return .createCompletion(try reader.entityID(), try reader.habitID(), try reader.date(), fields)
            }
        case "update":
            try allowing("entity_id", "completion", "clear") {
                .updateCompletion(try $0.entityID(), try CompletionFields($0.sent))
            }
        case "delete": try allowing("entity_id") { .deleteCompletion(try $0.entityID()) }
        default: throw unknown
        }
    }

    func pause() throws -> DeviceChange {
        guard let pause = sent.pause else { throw ServiceError.validation(field: "pause", "is needed") }
        return .pause(
            try habitID(),
            from: try Self.date(pause.from, field: "from"),
            until: try Self.date(pause.until, field: "until")
        )
    }

    /// What is wrong with fields that were sent, whatever the change is.
    func check(_ check: inout FieldCheck) throws {
        let isKnown = Self.operations[sent.entity]?.contains(sent.operation) == true
        _ = try check.take { () throws -> Void in if !isKnown { throw unknown } }
        if !sent.entityID.isEmpty { _ = try check.take { try entityID() as HabitID } }
        if !sent.habitID.isEmpty { _ = try check.take { try habitID() } }
        if !sent.date.isEmpty { _ = try check.take { try date() } }
        _ = try check.take { try ids() as [HabitID] }
        if sent.pause != nil { _ = try check.take { try pause() } }
        if sent.habit != nil { _ = try check.take { try HabitFields(sent) } }
        if sent.category != nil { _ = try check.take { try CategoryFields(sent) } }
        if sent.completion != nil { _ = try check.take { try CompletionFields(sent) } }
        if sent.settings != nil { _ = try check.take { try SettingsFields(sent) } }
    }

    func entityID<Entity>() throws -> ID<Entity> { try ID(parsing: sent.entityID, field: "entity_id") }
    func habitID() throws -> HabitID { try HabitID(parsing: sent.habitID, field: "habit_id") }
    func date() throws -> CalendarDate { try Self.date(sent.date, field: "date") }
    func ids<Entity>() throws -> [ID<Entity>] {
        let ids: [ID<Entity>] = try sent.ids.map { try ID(parsing: $0, field: "ids") }
        guard Set(ids).count == ids.count else {
            throw ServiceError.validation(field: "ids", "must be different from each other")
        }
        return ids
    }

    private static func date(_ text: String, field: String) throws -> CalendarDate {
        guard let date = CalendarDate(text) else { throw ServiceError.validation(field: field, "must be a date like 2026-01-31") }
        return date
    }

    /// - Throws: `VALIDATION_ERROR` naming a field that the entity does not have.
    func allowing(_ names: String..., read: (ChangeReader) throws -> DeviceChange) throws -> DeviceChange {
        let present = [
            ("entity_id", !sent.entityID.isEmpty), ("habit_id", !sent.habitID.isEmpty), ("date", !sent.date.isEmpty),
            ("clear", !sent.clear.isEmpty), ("habit", sent.habit != nil), ("category", sent.category != nil),
            ("completion", sent.completion != nil), ("pause", sent.pause != nil), ("settings", sent.settings != nil),
            ("note", sent.note != nil), ("ids", !sent.ids.isEmpty),
        ]
        if let foreign = present.first(where: { $0.1 && !names.contains($0.0) }) {
            throw ServiceError.validation(field: foreign.0, "does not belong to \(sent.operation) of a \(sent.entity)")
        }
        return try read(self)
    }
}
