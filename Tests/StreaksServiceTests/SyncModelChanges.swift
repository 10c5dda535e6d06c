import Kernel
import StreaksAPI

/// The changes, one by one.
extension SyncModel {
    mutating func apply(_ change: SyncChange) throws(Refusal) -> String {
        switch change.entity {
        case "habit": try habit(change)
        case "category": return try category(change)
        case "completion": return try completion(change)
        case "skip": try skip(change)
        case "pause": try pause(change)
        case "habit_order": order(change.ids)
        case "category_order": orderCategories(change.ids)
        case "settings": set(change)
        case "day_note": try note(change)
        default: throw Refusal(code: "VALIDATION_ERROR")
        }
        return "applied"
    }

    private func require(_ id: String) throws(Refusal) -> Habit {
        guard let habit = habits[id] else { throw Refusal(code: "HABIT_NOT_FOUND") }
        guard !habit.isDeleted else { throw Refusal(code: "GONE") }
        return habit
    }

    // MARK: habits

    private mutating func habit(_ change: SyncChange) throws(Refusal) {
        let id = change.entityID
        if change.habit?.name?.isEmpty == true { throw Refusal(code: "VALIDATION_ERROR") }
        switch change.operation {
        case "create":
            guard habits[id] == nil else { throw Refusal(code: habits[id]?.isDeleted == true ? "GONE" : "HABIT_ID_TAKEN") }
            var new = Habit(
                created: today,
                versions: [version(change.habit?.schedule ?? SyncSchedule(type: "daily"), change.habit?.targetValue)]
            )
            try set(&new, id, change)
            new.position = 1 + (habits.values.map(\.position).max() ?? 0)
            new.isArchived = !hasRoom
            habits[id] = new
        case "update":
            var habit = try require(id)
            try set(&habit, id, change)
            habits[id] = habit
            let newest = habit.versions[habit.versions.count - 1]
            var new = newest
            new.schedule = change.habit?.schedule ?? newest.schedule
            new.target = change.habit?.targetValue ?? (change.clear.contains("target_value") ? nil : newest.target)
            if new.schedule != newest.schedule || new.target != newest.target { self.change(id, new) }
        case "delete":
            guard habits[id] != nil else { throw Refusal(code: "HABIT_NOT_FOUND") }
            habits[id]?.isDeleted = true
        case "undelete":
            guard var habit = habits[id] else { throw Refusal(code: "HABIT_NOT_FOUND") }
            guard habit.isDeleted else { return }
            habit.name = Self.free(habit.name, taken: namesOfHabits(except: id))
            if !hasRoom { habit.isArchived = true }
            habit.isDeleted = false
            habits[id] = habit
        case "archive":
            _ = try require(id)
            habits[id]?.isArchived = true
        default:
            guard try require(id).isArchived else { return }
            guard hasRoom else { throw Refusal(code: "HABIT_LIMIT_REACHED") }
            habits[id]?.isArchived = false
        }
    }

    /// HA-1: five active habits without premium.
    private var hasRoom: Bool { isPremium || habits.values.filter { !$0.isArchived && !$0.isDeleted }.count < 5 }

    private func namesOfHabits(except id: String) -> [String] {
        habits.filter { $0.key != id && !$0.value.isDeleted }.map(\.value.name)
    }

    private func set(_ habit: inout Habit, _ id: String, _ change: SyncChange) throws(Refusal) {
        let fields = change.habit ?? SyncHabitFields()
        let reminder = fields.reminderTime ?? (change.clear.contains("reminder_time") ? nil : habit.reminder)
        if reminder == nil, !fields.reminderDays.isEmpty { throw Refusal(code: "VALIDATION_ERROR") }
        let keptDays = change.clear.contains("reminder_days") ? [] : habit.reminderDays
        habit.reminderDays = reminder == nil ? [] : fields.reminderDays.isEmpty ? keptDays : fields.reminderDays
        habit.reminder = reminder
        if let name = fields.name { habit.name = Self.free(name, taken: namesOfHabits(except: id)) }
        habit.description = fields.description ?? habit.description
        habit.color = fields.color ?? habit.color
        habit.icon = fields.icon ?? habit.icon
        habit.unit = fields.unit ?? habit.unit
        if change.clear.contains("category_id") { habit.category = nil }
        if let category = fields.categoryID {
            let known = names[category] ?? category
            habit.category = categories[known] == nil ? nil : known
        }
    }

    private mutating func order(_ ids: [String]) {
        let present = habits.filter { !$0.value.isDeleted }
        let sorted = present.sorted { ($0.value.position, $0.key) < ($1.value.position, $1.key) }.map(\.key)
        let wanted = ids.filter { present[$0] != nil }
        for (place, id) in (wanted + sorted.filter { !wanted.contains($0) }).enumerated() { habits[id]?.position = place + 1 }
    }

    private mutating func pause(_ change: SyncChange) throws(Refusal) {
        if change.operation == "delete" {
            var habit = try require(change.habitID)
            let ahead = habit.pauses.indices.filter {
                habit.pauses[$0].from < habit.pauses[$0].until && today < habit.pauses[$0].until
            }
            guard let next = ahead.min(by: { habit.pauses[$0].from < habit.pauses[$1].from }) else {
                throw Refusal(code: "NOT_PAUSED")
            }
            habit.pauses[next].until = max(today, habit.pauses[next].from)
            habits[change.habitID] = habit
            return
        }
        guard let sent = change.pause, let first = CalendarDate(sent.from), let until = CalendarDate(sent.until) else {
            throw Refusal(code: "VALIDATION_ERROR")
        }
        let from = max(first, today)
        guard from < until else { throw Refusal(code: "VALIDATION_ERROR") }
        let habit = try require(change.habitID)
        guard from.distance(to: until) <= 90 else { throw Refusal(code: "PAUSE_TOO_LONG") }
        guard !habit.pauses.contains(where: { $0.from < $0.until && $0.from < until && from < $0.until }) else {
            throw Refusal(code: "ALREADY_PAUSED")
        }
        habits[change.habitID]?.pauses.append((from, until))
    }

    // MARK: completions and skips

    private func date(_ text: String) throws(Refusal) -> CalendarDate {
        guard let date = CalendarDate(text) else { throw Refusal(code: "VALIDATION_ERROR") }
        return date
    }

    private func checkReach(_ date: CalendarDate) throws(Refusal) {
        if date > today { throw Refusal(code: "DATE_IN_FUTURE") }
        if date < earliest { throw Refusal(code: "DATE_TOO_OLD") }
    }

    private mutating func completion(_ change: SyncChange) throws(Refusal) -> String {
        let fields = change.completion ?? SyncCompletionFields()
        if let value = fields.value, value <= 0 { throw Refusal(code: "VALIDATION_ERROR") }
        switch change.operation {
        case "create": return try complete(change, fields)
        case "update":
            let id = try completionID(change.entityID)
            guard let old = completions[id] else { throw Refusal(code: "COMPLETION_NOT_FOUND") }
            let habit = try require(old.habit)
            if fields.value != nil || change.clear.contains("value") {
                try checkReach(old.date)
                if fields.value == nil, habit.version(on: old.date).target != nil { throw Refusal(code: "VALIDATION_ERROR") }
                completions[id]?.value = fields.value
            }
            completions[id]?.note = fields.note ?? old.note
            completions[id]?.mood = fields.mood ?? (change.clear.contains("mood") ? nil : old.mood)
        default:
            let id = names[change.entityID] ?? change.entityID
            guard !gone.contains(id) else { return "applied" }
            guard let old = completions.removeValue(forKey: id) else { throw Refusal(code: "COMPLETION_NOT_FOUND") }
            gone.insert(id)
            habits[old.habit]?.dates[old.date]?.removeAll { $0 == id }
            if habits[old.habit]?.dates[old.date]?.isEmpty == true { habits[old.habit]?.dates[old.date] = nil }
        }
        return "applied"
    }

    private func completionID(_ name: String) throws(Refusal) -> String {
        let id = names[name] ?? name
        guard !gone.contains(id) else { throw Refusal(code: "GONE") }
        return id
    }

    /// HA-14.
    private mutating func complete(_ change: SyncChange, _ fields: SyncCompletionFields) throws(Refusal) -> String {
        let (id, date) = (change.entityID, try date(change.date))
        let habit = try require(change.habitID)
        guard !gone.contains(id) else { throw Refusal(code: "GONE") }
        guard completions[id] == nil, names[id] == nil else { throw Refusal(code: "COMPLETION_ID_TAKEN") }
        try checkReach(date)
        let present = habit.dates[date] ?? []
        var value = fields.value
        if let target = habit.version(on: date).target {
            if value == nil {
                if isDone(habit, on: date), let first = present.first { return merge(id, first, fields) }
                value = target - present.compactMap { completions[$0]?.value }.reduce(0, +)
            }
        } else if let first = present.first {
            return merge(id, first, fields)
        }
        completions[id] = Completion(habit: change.habitID, date: date, value: value, note: fields.note ?? "", mood: fields.mood)
        habits[change.habitID]?.dates[date] = present + [id]
        return "applied"
    }

    private mutating func merge(_ id: String, _ other: String, _ fields: SyncCompletionFields) -> String {
        names[id] = other
        if let value = fields.value { completions[other]?.value = value }
        if let note = fields.note, !note.isEmpty { completions[other]?.note = note }
        if let mood = fields.mood { completions[other]?.mood = mood }
        return Self.merged + other
    }

    private mutating func skip(_ change: SyncChange) throws(Refusal) {
        let (id, date) = (change.habitID, try date(change.date))
        if change.operation == "delete" {
            guard habits[id] != nil else { throw Refusal(code: "HABIT_NOT_FOUND") }
            habits[id]?.skips.remove(date)
            return
        }
        let habit = try require(id)
        try checkReach(date)
        guard habit.version(on: date).isDue(on: date), habit.firstDate <= date else { throw Refusal(code: "DATE_NOT_DUE") }
        habits[id]?.skips.insert(date)
    }

    // MARK: the rest

    private mutating func category(_ change: SyncChange) throws(Refusal) -> String {
        let (id, fields) = (names[change.entityID] ?? change.entityID, change.category ?? SyncCategoryFields())
        if fields.name?.isEmpty == true { throw Refusal(code: "VALIDATION_ERROR") }
        func free(_ name: String) -> String { Self.free(name, taken: categories.filter { $0.key != id }.map(\.value.name)) }
        switch change.operation {
        case "create":
            guard !gone.contains(change.entityID) else { throw Refusal(code: "GONE") }
            guard names[id] == nil, categories[id] == nil, let name = fields.name else {
                throw Refusal(code: "CATEGORY_ID_TAKEN")
            }
            if let same = categories.first(where: { !$0.value.isCustom && $0.value.name.lowercased() == name.lowercased() }) {
                names[id] = same.key
                categories[same.key]?.name = name
                if let color = fields.color { categories[same.key]?.color = color }
                if let icon = fields.icon { categories[same.key]?.icon = icon }
                return Self.merged + same.key
            }
            var new = Category(name: free(name), position: 1 + (categories.values.map(\.position).max() ?? 0))
            new.color = fields.color ?? new.color
            new.icon = fields.icon ?? new.icon
            categories[id] = new
        case "update":
            guard let old = categories[id] else { throw Refusal(code: gone.contains(id) ? "GONE" : "CATEGORY_NOT_FOUND") }
            if let name = fields.name { categories[id]?.name = free(name) }
            categories[id]?.color = fields.color ?? old.color
            categories[id]?.icon = fields.icon ?? old.icon
        default:
            guard !gone.contains(id) else { return "applied" }
            guard categories.removeValue(forKey: id) != nil else { throw Refusal(code: "CATEGORY_NOT_FOUND") }
            gone.insert(id)
            for habit in habits.keys where habits[habit]?.category == id { habits[habit]?.category = nil }
        }
        return "applied"
    }

    private mutating func orderCategories(_ ids: [String]) {
        let sorted = categories.sorted { ($0.value.position, $0.key) < ($1.value.position, $1.key) }.map(\.key)
        var wanted: [String] = []
        for id in ids.map({ names[$0] ?? $0 }) where categories[id] != nil && !wanted.contains(id) { wanted.append(id) }
        for (place, id) in (wanted + sorted.filter { !wanted.contains($0) }).enumerated() { categories[id]?.position = place + 1 }
    }

    private mutating func set(_ change: SyncChange) {
        let fields = change.settings ?? SyncSettingsFields()
        settings.theme = fields.theme ?? settings.theme
        settings.haptics = fields.haptics ?? settings.haptics
        let kept = change.clear.contains("daily_reminder_time") ? nil : settings.dailyReminderTime
        settings.dailyReminderTime = fields.dailyReminderTime ?? kept
        guard let first = fields.firstDayOfWeek, first != settings.firstDayOfWeek else { return }
        settings.firstDayOfWeek = first
        // HA-10: it makes versions.
        for (id, habit) in habits where !habit.isDeleted {
            var new = habit.versions[habit.versions.count - 1]
            guard new.weekStart != first else { continue }
            new.weekStart = first
            self.change(id, new)
        }
    }

    private mutating func note(_ change: SyncChange) throws(Refusal) {
        let date = try date(change.date)
        guard date <= today else { throw Refusal(code: "DATE_IN_FUTURE") }
        let text = change.operation == "delete" ? "" : change.note ?? ""
        if change.operation == "update", change.baseSequence > 0, let deleted = goneNotes[date], deleted > change.baseSequence {
            throw Refusal(code: "GONE")
        }
        notes[date] = text.isEmpty ? nil : text
        goneNotes[date] = text.isEmpty ? sequence : nil
    }
}
