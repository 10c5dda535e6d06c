import Kernel

/// What Loop's habits become.
extension LoopImport {
    mutating func makeRecords() {
        var taken = TakenNames()
        for index in habits.indices {
            let place = HabitFileProblems.place("Habits.csv", habits[index].line)
            let name = habits[index].name
            if name.count > HabitFileRules.nameLength {
                found.problems.warning(place, "the name is cut off after \(HabitFileRules.nameLength) characters")
            }
            habits[index].record.name = taken.take(habits[index].record.name, most: HabitFileRules.nameLength)
            found.habits.append(record(habits[index], place))
        }
    }

    private mutating func record(_ habit: Habit, _ place: String) -> FileHabit {
        var record = habit.record
        var dates: [CalendarDate: (entry: Entry, note: String)] = [:]
        for (date, entry, note) in habit.entries { dates[date] = (entry, note) }
        let order = dates.keys.sorted()
        let first = order.first ?? context.today
        let schedule = schedule(habit, since: first, place)
        var target = habit.target
        if habit.isAtMost {
            target = nil
            let limit = habit.target?.decimal ?? "–"
            let excesses = order.count { dates[$0]?.entry == .excess }
            found.problems.warning(
                place,
                "“\(record.name)”: “at most \(limit)” has no equivalent; dates within it are completions without a target, and \(excesses) above it are left out"
            )
        }
        record.versions = [.init(from: first, schedule: schedule, target: target, weekStart: context.weekStart)]
        for date in order {
            switch dates[date] {
            case (.done(let amount), let note)?: record.completions.append(.init(date: date, amount: amount, note: note))
            case (.skipped, _)? where schedule.includes(date): record.skips.insert(date)
            default: break
            }
        }
        // Loop does not say since when.
        if !record.archivings.isEmpty {
            record.archivings = [.init(from: min(order.last?.advanced(by: 1) ?? context.today, context.today))]
        }
        return record
    }

    private mutating func schedule(_ habit: Habit, since first: CalendarDate, _ place: String) -> Schedule {
        let (times, days) = (habit.numerator, habit.denominator)
        guard times > 0, days > 0, days <= 10_000 else {
            found.problems.warning(place, "“\(habit.name)”: the frequency \(times) in \(days) is unknown; it becomes daily")
            return .daily
        }
        if times >= days { return .daily }
        if days == 7 { return .timesPerWeek(times) }
        if times == 1, days <= 365 {
            found.problems.warning(
                place,
                "“\(habit.name)”: every \(days) days counts from \(first) here, not from the last completion as in Loop"
            )
            return .everyNthDate(days, from: first)
        }
        let weekly = min(7, max(1, times * 7 / days))
        found.problems.warning(
            place,
            "“\(habit.name)”: \(times) times in \(days) days has no equivalent; it becomes \(weekly) times a week"
        )
        return .timesPerWeek(weekly)
    }
}
