import Kernel

/// What must hold between the parts of a habit in a backup.
enum FileHabitCheck {
    static func check(_ habit: FileHabit, _ path: String, today: CalendarDate, _ problems: inout HabitFileProblems) {
        guard !habit.versions.isEmpty else { return problems.error(path + ".versions", "must have at least one") }
        let counts = [
            ("versions", habit.versions.count), ("archivings", habit.archivings.count), ("pauses", habit.pauses.count),
        ]
        let excess = counts.filter { $0.1 > HabitFileRules.mostSpans }
        guard excess.isEmpty else {
            for (member, _) in excess { problems.error("\(path).\(member)", "must be at most \(HabitFileRules.mostSpans)") }
            return
        }
        for index in habit.versions.indices.dropFirst() where habit.versions[index].from <= habit.versions[index - 1].from {
            problems.error(path + ".versions[\(index)].from", "must be after that of the version before")
        }
        spans(habit.archivings.map { ($0.from, $0.until) }, path + ".archivings", &problems)
        // Today's date may have been the next one, where the user was before.
        for (index, span) in habit.archivings.enumerated() where max(span.from, span.until ?? span.from) > today.advanced(by: 1) {
            problems.error(path + ".archivings[\(index)]", "must not be in the future")
        }
        spans(habit.pauses.map { ($0.from, $0.until) }, path + ".pauses", &problems)
        for (index, pause) in habit.pauses.enumerated() where pause.from.distance(to: pause.until) > HabitFileRules.longestPause {
            problems.error(path + ".pauses[\(index)]", "must be at most \(HabitFileRules.longestPause) days long")
        }
        for date in habit.skips.sorted() where habit.version(on: date)?.schedule.includes(date) == false {
            problems.error(path + ".skips", "has \(date), on which nothing is due")
        }
    }

    private static func spans(
        _ spans: [(from: CalendarDate, until: CalendarDate?)],
        _ path: String,
        _ problems: inout HabitFileProblems
    ) {
        for (index, span) in spans.enumerated() {
            let place = "\(path)[\(index)]"
            if let until = span.until, until < span.from { problems.error(place + ".until", "must not be before from") }
            guard index > 0 else { continue }
            guard let before = spans[index - 1].until else {
                problems.error(place, "follows one without an end: only the last may have none")
                continue
            }
            if span.from < before { problems.error(place + ".from", "lies in the one before") }
        }
    }
}
