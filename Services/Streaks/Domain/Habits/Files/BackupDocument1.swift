import Kernel

/// The document of version 1.0, as the first version of the app wrote it: flat lists, ids of any form, dates as times.
///
/// | frequency | becomes |
/// |---|---|
/// | `daily` | daily |
/// | `weekly` | once a week |
/// | `custom`, `specific_days` | weekdays |
/// | `custom`, `interval` | every n-th date since the creation |
/// | `custom`, `flexible` | times per week |
///
/// Members that the service does not have (`isPremium`, `updatedAt` …) are left out.
struct BackupDocument1 {
    private struct Entry {
        var path: String
        var habit = ""
        var id: CompletionID?
        var at: Instant?
        var amount: Amount?
        var note = ""
        var isSkipped = false
        var mood: HabitMood?
    }

    private struct Frequency {
        var kind = "daily"
        var type = ""
        var days: Set<Int> = []
        var interval = 0
        var targetCount = 0

        func schedule(since first: CalendarDate) -> Schedule? {
            switch (kind, type) {
            case ("daily", _): .daily
            case ("weekly", _): .timesPerWeek(targetCount > 0 ? targetCount : 1)
            case ("custom", "specific_days"): .weekdays(days)
            case ("custom", "interval"): .everyNthDate(interval, from: first)
            case ("custom", "flexible"): .timesPerWeek(targetCount)
            default: nil
            }
        }
    }

    var fields: DocumentFields
    private var found = HabitImport()
    private var entries: [Entry] = []
    /// Of each habit: its id in the file, that of its category, and its place in the app's order.
    private var keys: [(id: String, category: String?, order: Int)] = []

    init(_ fields: DocumentFields) { self.fields = fields }

    mutating func read() throws(JSONProblem) -> HabitImport {
        try fields.json.beginObject()
        var hasData = false
        while let name = try fields.json.nextName() {
            guard name == "data", try fields.beginObject() else { continue }
            hasData = true
            while let name = try fields.json.nextName() {
                switch name {
                case "habits": try each { document throws(JSONProblem) in try document.readHabit() }
                case "completions": try each { document throws(JSONProblem) in try document.readEntry() }
                case "categories": try each { document throws(JSONProblem) in try document.readCategory() }
                case "settings": try readSettings()
                default: break
                }
            }
        }
        try fields.json.finish()
        if !hasData { fields.problems.error("data", "is needed") }
        join()
        uniqueNames(&found.habits, &fields.problems)
        return found
    }

    private mutating func each(_ read: (inout Self) throws(JSONProblem) -> Void) throws(JSONProblem) {
        guard try fields.beginArray() else { return }
        while try fields.json.nextElement() { try read(&self) }
    }

    private mutating func readSettings() throws(JSONProblem) {
        guard try fields.beginObject() else { return }
        var settings = HabitSettings()
        while let name = try fields.json.nextName() {
            switch name {
            case "theme": settings.theme = try fields.choice(HabitSettings.Theme.self) ?? settings.theme
            case "accentColor": settings.accentColor = color(try fields.string()) ?? settings.accentColor
            case "firstDayOfWeek": settings.firstDayOfWeek = try fields.integer(0...6) ?? settings.firstDayOfWeek
            case "hapticFeedbackEnabled": settings.haptics = try fields.bool() ?? settings.haptics
            case "animationsEnabled": settings.animations = try fields.bool() ?? settings.animations
            case "onboardingCompleted": settings.onboarded = try fields.bool() ?? settings.onboarded
            default: break
            }
        }
        found.settings = settings
    }

    /// The first version took any text for a color and an icon.
    private func color(_ text: String?) -> String? { text.flatMap { try? HabitText.color($0, field: "") } }

    private func icon(_ text: String?) -> String? { text.flatMap { try? HabitText.icon($0, field: "") } }

    private mutating func readCategory() throws(JSONProblem) {
        let path = fields.json.path
        guard try fields.beginObject() else { return }
        var category = FileCategory(id: "", name: "")
        while let member = try fields.json.nextName() {
            switch member {
            case "id": category.id = try fields.key() ?? ""
            case "name": category.name = try fields.name(HabitFileRules.categoryLength) ?? ""
            case "color": category.color = color(try fields.string())
            case "icon": category.icon = icon(try fields.string())
            case "isCustom": category.isCustom = try fields.bool()
            default: break
            }
        }
        if category.id.isEmpty || category.name.isEmpty { fields.problems.error(path, "needs an id and a name") }
        if !category.id.isEmpty, found.categories.contains(where: { $0.id == category.id }) {
            fields.problems.error(path + ".id", "is there twice")
        }
        guard found.categories.count < HabitFileRules.mostCategories else {
            return fields.problems.error(path, "is beyond \(HabitFileRules.mostCategories) categories")
        }
        found.categories.append(category)
    }

    private mutating func readHabit() throws(JSONProblem) {
        let path = fields.json.path
        guard try fields.beginObject() else { return }
        var habit = FileHabit(name: "", versions: [])
        var (id, category, order): (String?, String?, Int) = (nil, nil, keys.count)
        var (frequency, target, isArchived): (Frequency, Amount?, Bool) = (Frequency(), nil, false)
        var (archivedAt, minute, days): (Instant?, Int?, Set<Int>) = (nil, nil, [])
        while let member = try fields.json.nextName() {
            switch member {
            case "id": id = try fields.key()
            case "name": habit.name = try fields.name(HabitFileRules.nameLength) ?? ""
            case "description": habit.description = try fields.text(HabitFileRules.descriptionLength) ?? ""
            case "color": habit.color = color(try fields.string())
            case "icon": habit.icon = icon(try fields.string())
            case "categoryId": category = try fields.key()
            case "frequency": frequency.kind = try fields.string() ?? ""
            case "customFrequency": try readCustom(&frequency)
            case "targetValue": target = try fields.amount()
            case "unit": habit.unit = try fields.line(HabitFileRules.unitLength) ?? ""
            case "reminderTime": minute = try readReminderTime()
            case "reminderDays": days = try fields.integers(0...6) ?? []
            case "archived": isArchived = try fields.bool() ?? false
            case "archivedAt": archivedAt = try fields.instant()
            case "createdAt": habit.createdAt = try fields.instant()
            case "order": order = try fields.integer(-1_000_000_000...1_000_000_000) ?? order
            default: break
            }
        }
        guard let id, !habit.name.isEmpty else { return fields.problems.error(path, "needs an id and a name") }
        guard found.habits.count < HabitFileRules.mostHabits else {
            return fields.problems.error(path, "is beyond \(HabitFileRules.mostHabits) habits")
        }
        let today = fields.context.today
        let first = max(HabitFileContext.earliest, min(today, habit.createdAt.map(fields.context.zone.date(at:)) ?? today))
        habit.id = HabitID(id)
        habit.reminder = minute.map { HabitReminderTime(storedMinute: $0, days: days.isEmpty ? nil : days) }
        if isArchived {
            habit.archivings = [.init(from: max(first, min(today, archivedAt.map(fields.context.zone.date(at:)) ?? today)))]
        }
        if let schedule = schedule(frequency, since: first, path) {
            let weekStart = fields.context.weekStart
            habit.versions = [.init(from: first, schedule: schedule, target: target, weekStart: weekStart)]
        }
        found.habits.append(habit)
        keys.append((id, category, order))
    }

    private mutating func schedule(_ frequency: Frequency, since first: CalendarDate, _ path: String) -> Schedule? {
        guard let schedule = frequency.schedule(since: first) else {
            fields.problems.error(
                path + ".frequency",
                "must be daily, weekly, or custom with a type specific_days, interval or flexible"
            )
            return nil
        }
        do throws(ServiceError) { try schedule.validate(field: "") } catch {
            fields.problems.error(path + ".customFrequency", error.details.first?.message ?? error.message)
        }
        return schedule
    }

    private mutating func readCustom(_ frequency: inout Frequency) throws(JSONProblem) {
        guard try fields.beginObject() else { return }
        while let member = try fields.json.nextName() {
            switch member {
            case "type": frequency.type = try fields.string() ?? ""
            case "days": frequency.days = try fields.integers(0...6) ?? []
            case "interval": frequency.interval = try fields.integer(1...365) ?? 0
            case "targetCount": frequency.targetCount = try fields.integer(1...7) ?? 0
            default: break
            }
        }
    }

    /// `08:00`, or a time of which the person's clock shows hour and minute.
    private mutating func readReminderTime() throws(JSONProblem) -> Int? {
        guard let text = try fields.string(), !text.isEmpty else { return nil }
        if let minute = HabitFileRules.minute(text) { return minute }
        if let at = Instant(rfc3339: text) { return Int(fields.context.zone.secondOfDay(at: at) / 60) }
        fields.error("must be a time as hh:mm or 2026-01-02T08:00:00Z")
        return nil
    }

    private mutating func readEntry() throws(JSONProblem) {
        var entry = Entry(path: fields.json.path)
        guard try fields.beginObject() else { return }
        while let member = try fields.json.nextName() {
            switch member {
            case "id": entry.id = try fields.string().flatMap { CompletionID($0) }
            case "habitId": entry.habit = try fields.key() ?? ""
            case "completedAt": entry.at = try fields.instant()
            case "value": entry.amount = try readValue()
            case "note": entry.note = try fields.text(HabitFileRules.noteLength) ?? ""
            case "skipped": entry.isSkipped = try fields.bool() ?? false
            case "mood": entry.mood = try fields.mood()
            default: break
            }
        }
        if entry.at == nil { fields.problems.error(entry.path + ".completedAt", "is needed") }
        entries.append(entry)
        guard entries.count <= HabitFileRules.mostCompletions else {
            throw fields.json.problem("is beyond \(HabitFileRules.mostCompletions) completions")
        }
    }

    /// The first version wrote 0 where nothing was counted.
    private mutating func readValue() throws(JSONProblem) -> Amount? {
        var copy = fields.json
        if try copy.kind() == .number, try copy.number() == 0 {
            try fields.json.skip()
            return nil
        }
        return try fields.amount()
    }

    /// Puts completions and categories to their habits, and these into their order.
    private mutating func join() {
        let categories = Dictionary(found.categories.enumerated().map { ($1.id, $0) }) { first, _ in first }
        var habits: [String: Int] = [:]
        for (index, key) in keys.enumerated() {
            if habits.updateValue(index, forKey: key.id) != nil {
                fields.problems.error("data.habits[\(index)].id", "is there twice")
            }
            guard let category = key.category, !category.isEmpty else { continue }
            found.habits[index].category = categories[category]
            if categories[category] == nil {
                fields.problems.error("data.habits[\(index)].categoryId", "is the id of no category of this document")
            }
        }
        var ids: Set<CompletionID> = []
        for entry in entries {
            guard let at = entry.at else { continue }
            guard let index = habits[entry.habit] else {
                fields.problems.error(entry.path + ".habitId", "is the id of no habit of this document")
                continue
            }
            if let id = entry.id, !ids.insert(id).inserted { fields.problems.error(entry.path + ".id", "is there twice") }
            let date = fields.context.zone.date(at: at)
            if let problem = fields.context.problem(with: date) {
                fields.problems.error(entry.path + ".completedAt", problem)
            } else {
                add(entry, date, to: index)
            }
        }
        arrange()
    }

    private mutating func arrange() {
        if let weekStart = found.settings?.firstDayOfWeek {
            for index in found.habits.indices {
                for version in found.habits[index].versions.indices {
                    found.habits[index].versions[version].weekStart = weekStart
                }
            }
        }
        let order = keys.indices.sorted { (keys[$0].order, $0) < (keys[$1].order, $1) }
        found.habits = order.map { index in
            var habit = found.habits[index]
            habit.completions.sort { ($0.date, $0.at ?? .epoch) < ($1.date, $1.at ?? .epoch) }
            // HA-14: without a target one a date, and a repeat updates it.
            if habit.versions.first?.target == nil {
                var last: [FileHabit.Completion] = []
                for completion in habit.completions {
                    if last.last?.date == completion.date { last.removeLast() }
                    last.append(completion)
                }
                if last.count < habit.completions.count {
                    let dropped = habit.completions.count - last.count
                    fields.problems.warning(
                        "data.habits[\(index)]",
                        "has no target: of several completions of a date the last one stays, \(dropped) are left out"
                    )
                }
                habit.completions = last
            }
            return habit
        }
    }

    private mutating func add(_ entry: Entry, _ date: CalendarDate, to index: Int) {
        let habit = found.habits[index]
        if entry.isSkipped {
            guard habit.versions.first?.schedule.includes(date) ?? true else {
                return fields.problems.warning(entry.path, "is a skip of \(date), on which nothing is due; it is left out")
            }
            if !entry.note.isEmpty { fields.problems.warning(entry.path + ".note", "is left out: a skipped date has none") }
            found.habits[index].skips.insert(date)
            return
        }
        let completion = FileHabit.Completion(
            id: entry.id,
            date: date,
            amount: entry.amount,
            note: entry.note,
            mood: entry.mood,
            at: entry.at
        )
        found.habits[index].completions.append(completion)
    }
}
