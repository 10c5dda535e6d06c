import Kernel

/// The document of version 2.0.
struct BackupDocument2 {
    var fields: DocumentFields
    private var found = HabitImport()
    private var completionIDs: Set<CompletionID> = []
    private var completionCount = 0
    private var habitIDs: Set<HabitID> = []
    /// The category of each habit by its id in the file: categories may follow the habits.
    private var categoryIDs: [(path: String, id: String)?] = []

    init(_ fields: DocumentFields) { self.fields = fields }

    mutating func read() throws(JSONProblem) -> HabitImport {
        var hasData = false
        try fields.json.beginObject()
        while let name = try fields.json.nextName() {
            switch name {
            case "version", "kind": try fields.json.skip()
            case "created_at": _ = try fields.instant()
            case "account_id": found.account = try fields.id()
            case "data":
                hasData = true
                try readData()
            default: try fields.unknown()
            }
        }
        try fields.json.finish()
        if !hasData { fields.problems.error("data", "is needed") }
        resolveCategories()
        uniqueNames(&found.habits, &fields.problems)
        return found
    }

    private mutating func readData() throws(JSONProblem) {
        guard try fields.beginObject() else { return }
        while let name = try fields.json.nextName() {
            switch name {
            case "settings": try readSettings()
            case "categories": try readCategories()
            case "day_notes": try readDayNotes()
            case "habits":
                guard try fields.beginArray() else { continue }
                while try fields.json.nextElement() { try readHabit() }
            default: try fields.unknown()
            }
        }
    }

    private mutating func resolveCategories() {
        let indices = Dictionary(found.categories.enumerated().map { ($1.id, $0) }) { first, _ in first }
        for (index, category) in categoryIDs.enumerated() {
            guard let category else { continue }
            found.habits[index].category = indices[category.id]
            if indices[category.id] == nil { fields.problems.error(category.path, "is the id of no category of this document") }
        }
    }

    private mutating func readSettings() throws(JSONProblem) {
        guard try fields.beginObject() else { return }
        var settings = HabitSettings()
        while let name = try fields.json.nextName() {
            switch name {
            case "theme": settings.theme = try fields.choice(HabitSettings.Theme.self) ?? settings.theme
            case "accent_color": settings.accentColor = try fields.color() ?? settings.accentColor
            case "first_day_of_week": settings.firstDayOfWeek = try fields.integer(0...6) ?? settings.firstDayOfWeek
            case "haptics": settings.haptics = try fields.bool() ?? settings.haptics
            case "animations": settings.animations = try fields.bool() ?? settings.animations
            case "onboarded": settings.onboarded = try fields.bool() ?? settings.onboarded
            case "daily_reminder_time": settings.reminderMinute = try fields.minute()
            default: try fields.unknown()
            }
        }
        found.settings = settings
    }

    private mutating func readCategories() throws(JSONProblem) {
        guard try fields.beginArray() else { return }
        var ids: Set<String> = []
        while try fields.json.nextElement() {
            let path = fields.json.path
            guard try fields.beginObject() else { continue }
            var (id, name, color, icon, isCustom): (String?, String?, String?, String?, Bool?)
            while let member = try fields.json.nextName() {
                switch member {
                case "id": id = try fields.key()
                case "name": name = try fields.name(HabitFileRules.categoryLength)
                case "color": color = try fields.color()
                case "icon": icon = try fields.icon()
                case "is_custom": isCustom = try fields.bool()
                default: try fields.unknown()
                }
            }
            guard let id, ids.insert(id).inserted else {
                fields.problems.error(path + ".id", id == nil ? "is needed" : "is there twice")
                continue
            }
            if name == nil { fields.problems.error(path + ".name", "is needed") }
            guard found.categories.count < HabitFileRules.mostCategories else {
                fields.problems.error(path, "is beyond \(HabitFileRules.mostCategories) categories")
                continue
            }
            found.categories.append(FileCategory(id: id, name: name ?? "", color: color, icon: icon, isCustom: isCustom))
        }
    }

    private mutating func readDayNotes() throws(JSONProblem) {
        guard try fields.beginArray() else { return }
        while try fields.json.nextElement() {
            let path = fields.json.path
            guard try fields.beginObject() else { continue }
            var (date, text): (CalendarDate?, String?)
            while let member = try fields.json.nextName() {
                switch member {
                case "date": date = try fields.date(past: true)
                case "text": text = try fields.text(HabitFileRules.dayNoteLength)
                default: try fields.unknown()
                }
            }
            guard let date, let text else {
                if fields.problems.errorCount == 0 { fields.problems.error(path, "needs a date and a text") }
                continue
            }
            if found.dayNotes.updateValue(text, forKey: date) != nil { fields.problems.error(path + ".date", "is there twice") }
        }
    }
}

extension BackupDocument2 {
    private mutating func readHabit() throws(JSONProblem) {
        let path = fields.json.path
        guard try fields.beginObject() else { return }
        var habit = FileHabit(name: "", versions: [])
        var (hasName, category): (Bool, (path: String, id: String)?) = (false, nil)
        while let member = try fields.json.nextName() {
            switch member {
            case "id":
                habit.id = try fields.id()
                if let id = habit.id, !habitIDs.insert(id).inserted { fields.error("is there twice") }
            case "name":
                hasName = true
                habit.name = try fields.name(HabitFileRules.nameLength) ?? ""
            case "description": habit.description = try fields.text(HabitFileRules.descriptionLength) ?? ""
            case "color": habit.color = try fields.color()
            case "icon": habit.icon = try fields.icon()
            case "category_id":
                let path = fields.json.path
                category = try fields.key().map { (path, $0) }
            case "unit": habit.unit = try fields.line(HabitFileRules.unitLength) ?? ""
            case "created_at": habit.createdAt = try fields.instant()
            case "reminder": habit.reminder = try readReminder()
            case "versions": habit.versions = try readVersions()
            case "archivings": habit.archivings = try readSpans(open: true).map { .init(from: $0.from, until: $0.until) }
            case "pauses":
                habit.pauses = try readSpans(open: false).compactMap { span in
                    span.until.map { .init(from: span.from, until: $0) }
                }
            case "skips": habit.skips = try readSkips()
            case "completions": habit.completions = try readCompletions()
            default: try fields.unknown()
            }
        }
        if !hasName { fields.problems.error(path + ".name", "is needed") }
        FileHabitCheck.check(habit, path, today: fields.context.today, &fields.problems)
        guard found.habits.count < HabitFileRules.mostHabits else {
            return fields.problems.error(path, "is beyond \(HabitFileRules.mostHabits) habits")
        }
        found.habits.append(habit)
        categoryIDs.append(category)
    }

    private mutating func readReminder() throws(JSONProblem) -> HabitReminderTime? {
        guard try fields.beginObject() else { return nil }
        var (minute, days): (Int?, Set<Int>) = (nil, [])
        while let member = try fields.json.nextName() {
            switch member {
            case "time": minute = try fields.minute()
            case "days": days = try fields.integers(0...6) ?? []
            default: try fields.unknown()
            }
        }
        return minute.map { HabitReminderTime(storedMinute: $0, days: days.isEmpty ? nil : days) }
    }

    private mutating func readVersions() throws(JSONProblem) -> [HabitEntries.Version] {
        var versions: [HabitEntries.Version] = []
        guard try fields.beginArray() else { return [] }
        while try fields.json.nextElement() {
            let path = fields.json.path
            guard try fields.beginObject() else { continue }
            var (from, schedule, target, weekStart): (CalendarDate?, RawSchedule?, Amount?, Int) = (nil, nil, nil, 1)
            while let member = try fields.json.nextName() {
                switch member {
                case "from": from = try fields.date(past: false)
                case "schedule": schedule = try readSchedule()
                case "target_value": target = try fields.amount()
                case "first_day_of_week": weekStart = try fields.integer(0...6) ?? 1
                default: try fields.unknown()
                }
            }
            guard let from, let schedule = schedule?.schedule(since: from) else {
                fields.problems.error(path, "needs a date “from” and a schedule")
                continue
            }
            do throws(ServiceError) {
                try schedule.validate(field: "")
                versions.append(.init(from: from, schedule: schedule, target: target, weekStart: weekStart))
            } catch { fields.problems.error(path + ".schedule", error.details.first?.message ?? error.message) }
        }
        return versions
    }

    /// A schedule as it is written; its first date may not be known yet.
    private struct RawSchedule {
        var type = ""
        var days: Set<Int> = []
        var number = 0
        var from: CalendarDate?

        func schedule(since first: CalendarDate) -> Schedule? {
            switch type {
            case "daily": .daily
            case "weekdays": .weekdays(days)
            case "every_n_days": .everyNthDate(number, from: from ?? first)
            case "days_of_month": .daysOfMonth(days)
            case "times_per_week": .timesPerWeek(number)
            default: nil
            }
        }
    }

    private mutating func readSchedule() throws(JSONProblem) -> RawSchedule? {
        guard try fields.beginObject() else { return nil }
        var schedule = RawSchedule()
        while let member = try fields.json.nextName() {
            switch member {
            case "type":
                schedule.type = try fields.string() ?? ""
                let known = ["daily", "weekdays", "every_n_days", "days_of_month", "times_per_week"]
                if !known.contains(schedule.type) { fields.error("must be \(known.joined(separator: ", "))") }
            case "days": schedule.days = try fields.integers(0...31) ?? []
            case "interval", "times": schedule.number = try fields.integer(1...365) ?? 0
            case "from": schedule.from = try fields.date(past: false)
            default: try fields.unknown()
            }
        }
        return schedule
    }

    /// - Parameter open: whether `until` may be missing.
    private mutating func readSpans(open: Bool) throws(JSONProblem) -> [(from: CalendarDate, until: CalendarDate?)] {
        var spans: [(from: CalendarDate, until: CalendarDate?)] = []
        guard try fields.beginArray() else { return [] }
        while try fields.json.nextElement() {
            let path = fields.json.path
            guard try fields.beginObject() else { continue }
            var (from, until): (CalendarDate?, CalendarDate?)
            while let member = try fields.json.nextName() {
                switch member {
                case "from": from = try fields.date(past: false)
                case "until": until = try fields.date(past: false)
                default: try fields.unknown()
                }
            }
            guard let from, open || until != nil else {
                fields.problems.error(path, open ? "needs a date “from”" : "needs the dates “from” and “until”")
                continue
            }
            spans.append((from, until))
        }
        return spans
    }

    private mutating func readSkips() throws(JSONProblem) -> Set<CalendarDate> {
        var skips: Set<CalendarDate> = []
        guard try fields.beginArray() else { return [] }
        while try fields.json.nextElement() {
            guard let date = try fields.date(past: true) else { continue }
            if !skips.insert(date).inserted { fields.error("is there twice") }
        }
        return skips
    }

    private mutating func readCompletions() throws(JSONProblem) -> [FileHabit.Completion] {
        var completions: [FileHabit.Completion] = []
        guard try fields.beginArray() else { return [] }
        while try fields.json.nextElement() {
            let path = fields.json.path
            guard try fields.beginObject() else { continue }
            var (id, date): (CompletionID?, CalendarDate?)
            var completion = FileHabit.Completion(date: fields.context.today)
            while let member = try fields.json.nextName() {
                switch member {
                case "id":
                    id = try fields.id()
                    if let id, !completionIDs.insert(id).inserted { fields.error("is there twice") }
                case "date": date = try fields.date(past: true)
                case "value": completion.amount = try fields.amount()
                case "note": completion.note = try fields.text(HabitFileRules.noteLength) ?? ""
                case "mood": completion.mood = try fields.mood()
                case "at": completion.at = try fields.instant()
                // The photo itself is not in the file.
                case "photo_id": let _: HabitPhotoID? = try fields.id()
                default: try fields.unknown()
                }
            }
            guard let date else {
                fields.problems.error(path + ".date", "is needed")
                continue
            }
            (completion.id, completion.date) = (id, date)
            completions.append(completion)
            completionCount += 1
            guard completionCount <= HabitFileRules.mostCompletions else {
                throw fields.json.problem("is beyond \(HabitFileRules.mostCompletions) completions")
            }
        }
        return completions
    }
}
