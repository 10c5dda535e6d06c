internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What the form for a habit sends, checked field by field with the texts of the app (HA-1, HA-9).
struct HabitForm {
    let details: HabitDetails
    let schedule: Schedule
    let target: Amount?

    /// A new habit.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    init(_ request: CreateHabitRequest, today: CalendarDate) throws {
        var check = FieldCheck()
        let reminder = try check.take { try Self.reminder(request.reminderTime, request.reminderDays, present: nil) }
        let details = try Self.details(
            name: request.name,
            description: request.description,
            color: request.color ?? HabitDetails.standardColor,
            icon: request.icon ?? HabitDetails.standardIcon,
            unit: request.unit,
            category: request.categoryID,
            reminder: reminder ?? nil,
            &check
        )
        let schedule: Schedule? = try check.take { try request.schedule?.checked(from: today) ?? .daily }
        let target: Amount?? = try check.take { try request.targetValue.map { try Amount($0, field: "target_value") } }
        try check.finish()
        guard let schedule, let target else { throw ServiceError.internal }
        (self.details, self.schedule, self.target) = (details, schedule, target)
    }

    /// What is wrong with the fields of a change whatever the habit is.
    static func problems(_ request: UpdateHabitRequest) -> [ServiceError.Detail] {
        FieldCheck.problems {
            var check = FieldCheck()
            // Days alone are wrong only where there is no time.
            let midnight = HabitReminderTime(storedMinute: 0, days: nil)
            _ = try check.take { try Self.reminder(request.reminderTime, request.reminderDays, present: midnight) }
            _ = try Self.details(
                name: request.name ?? "x",
                description: request.description ?? "",
                color: request.color ?? HabitDetails.standardColor,
                icon: request.icon ?? HabitDetails.standardIcon,
                unit: request.unit ?? "",
                category: nil,
                reminder: nil,
                &check
            )
            _ = try check.take { try request.schedule?.checked(from: CalendarDate(dayNumber: 0)) }
            _ = try check.take { try request.targetValue.map { try Amount($0, field: "target_value") } }
            try check.finish()
        }
    }

    /// A habit with the fields that are sent.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    init(_ request: UpdateHabitRequest, _ record: HabitRecord, today: CalendarDate) throws {
        let (old, newest) = (record.details, record.versions.last ?? record.version(on: today))
        let clear = Set(request.clear)
        var check = FieldCheck()
        let present = clear.contains("reminder_time") ? nil : old.reminder
        let reminder = try check.take {
            var reminder = try Self.reminder(request.reminderTime, request.reminderDays, present: present)
            if clear.contains("reminder_days") { reminder?.days = nil }
            return reminder
        }
        let details = try Self.details(
            name: request.name ?? old.name,
            description: request.description ?? old.description,
            color: request.color ?? old.color,
            icon: request.icon ?? old.icon,
            unit: request.unit ?? old.unit,
            category: request.categoryID ?? (clear.contains("category_id") ? nil : old.category),
            reminder: reminder ?? nil,
            &check
        )
        let schedule = try check.take { try request.schedule?.checked(from: today) ?? newest.schedule }
        let target: Amount?? = try check.take {
            if let value = request.targetValue { return try Amount(value, field: "target_value") }
            return clear.contains("target_value") ? nil : newest.target
        }
        try check.finish()
        guard let schedule, let target else { throw ServiceError.internal }
        (self.details, self.schedule, self.target) = (details, schedule, target)
    }

    /// A habit's details; those that fail are left out, and `check` remembers them.
    private static func details(
        name: String,
        description: String,
        color: String,
        icon: String,
        unit: String,
        category: HabitCategoryID?,
        reminder: HabitReminderTime?,
        _ check: inout FieldCheck
    ) throws -> HabitDetails {
        HabitDetails(
            storedName: try check.take { try HabitText.name(name, field: "name", most: 50) } ?? "",
            description: try check.take { try HabitText.text(description, field: "description", most: 200) } ?? "",
            color: try check.take { try HabitText.color(color, field: "color") } ?? "",
            icon: try check.take { try HabitText.icon(icon, field: "icon") } ?? "",
            category: category,
            unit: try check.take { try HabitText.line(unit, field: "unit", most: 20) } ?? "",
            reminder: reminder
        )
    }

    /// - Parameter present: the one that it has, which fields that are not sent keep.
    private static func reminder(_ time: String?, _ days: [Int32], present: HabitReminderTime?) throws -> HabitReminderTime? {
        var check = FieldCheck()
        let minute = try check.take(time) { try HabitReminderTime.minute($0, field: "reminder_time") } ?? present?.minute
        let days = days.isEmpty ? nil : Set(days.map(Int.init))
        // Days are judged whatever the time is.
        let reminder = try check.take { try HabitReminderTime(minute: minute ?? 0, days: days ?? present?.days) }
        check.require(days == nil || time != nil || present != nil, "reminder_days", "need a reminder_time")
        try check.finish()
        return minute == nil ? nil : reminder
    }
}

extension HabitSchedule {
    /// The schedule that it says.
    ///
    /// - Parameter today: what every n-th date is counted from.
    /// - Throws: `VALIDATION_ERROR` naming the field that its type needs.
    func checked(from today: CalendarDate) throws -> Schedule {
        let (schedule, field): (Schedule, String) =
            switch type {
            case "daily": (.daily, "type")
            case "weekdays": (.weekdays(Set(weekdays.map(Int.init))), "weekdays")
            case "every_n_days": (.everyNthDate(Int(every ?? 0), from: today), "every")
            case "times_per_week": (.timesPerWeek(Int(times ?? 0)), "times")
            case "days_of_month": (.daysOfMonth(Set(days.map(Int.init))), "days")
            default: throw ServiceError.validation(field: "schedule.type", "is no schedule")
            }
        try schedule.validate(field: "schedule.\(field)")
        return schedule
    }
}

/// What the form for a category sends.
struct CategoryForm {
    let details: HabitCategoryDetails

    /// What is wrong with the fields whatever the category was.
    static func problems(name: String?, color: String?, icon: String?, isNew: Bool) -> [ServiceError.Detail] {
        let name = name ?? (isNew ? "" : "x")
        return FieldCheck.problems { _ = try CategoryForm(name: name, color: color, icon: icon, isPremium: true) }
    }

    /// - Parameters:
    ///   - present: the category that is changed; nil for a new one.
    ///   - isPremium: whether colors and icons beside the palette are allowed (HA-17).
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field, or `PREMIUM_REQUIRED`.
    init(name: String?, color: String?, icon: String?, present: HabitCategoryDetails? = nil, isPremium: Bool) throws {
        let color = color ?? present?.color ?? HabitDetails.standardColor
        let icon = icon ?? present?.icon ?? HabitDetails.standardIcon
        var check = FieldCheck()
        details = HabitCategoryDetails(
            storedName: try check.take { try HabitText.name(name ?? present?.name ?? "", field: "name", most: 30) } ?? "",
            color: try check.take { try HabitText.color(color, field: "color") } ?? "",
            icon: try check.take { try HabitText.icon(icon, field: "icon") } ?? ""
        )
        try check.finish()
        let isSame = present.map { $0.color == details.color && $0.icon == details.icon } ?? false
        let isCommon = HabitPalette.colors.contains(details.color) && HabitPalette.icons.contains(details.icon)
        guard isPremium || isSame || isCommon else { throw ServiceError.premiumHabits("A color or icon of your own") }
    }
}
