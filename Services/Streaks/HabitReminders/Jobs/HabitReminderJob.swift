internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain
internal import Wire

/// Emits reminders of habits: at the time of each, in the evening when something is open, and words of motivation (HA-5, HA-18).
///
/// One row a user says when the next may be due. The events, the note that they were handled, and when the next may be due are one
/// transaction: each reminder is emitted once, whatever dies, and one that is of no use any more is dropped. However many users are due in one
/// minute, a batch of them costs the same few statements.
struct HabitReminderJob: Sendable {
    private static let batch = 250

    let work: UnitOfWorkFactory
    let store: StreakStore

    var job: Job {
        Job(
            "habit_reminders",
            every: .seconds(5),
            oldestDue: { [store] in try await HabitScheduleRepository.oldestDue(store.database) }
        ) { [self] now in
            try await work.run(trace: "", requestID: "") { work in try await emit(dueAt: now, work) }
        }
    }

    /// Handles one batch of users. - Returns: how many.
    func emit(dueAt now: Instant, limit: Int = batch, _ work: UnitOfWork) async throws -> Int {
        let users = try await HabitScheduleRepository.lockDue(at: now, limit: limit, work.sql)
        guard !users.isEmpty else { return 0 }
        var batch = HabitReminderBatch(
            users: users,
            habits: try await HabitReminderRepository.lockHabits(of: users.map(\.user), work.sql),
            clocks: try await ZoneRepository.histories(of: users.map(\.user), work.sql),
            now: now
        )
        let due = await batch.takeDue()
        let open = try await OpenHabits(of: due, batch, store, work.sql)
        let premium = try await HabitScheduleRepository.premium(among: due.habits.map(\.user), at: now, work.sql)
        try await work.emit(batch.events(of: due, open, premium: premium))
        try await HabitReminderRepository.store(batch.changed, work.sql)
        try await HabitScheduleRepository.store(batch.users, work.sql)
        return users.count
    }
}

/// Users who are due, with their habits.
struct HabitReminderBatch: Sendable {
    /// What may be said; whether there is anything to say is asked then.
    struct Due: Sendable {
        /// By the place of the habit.
        var reminders: [(habit: Int, reminder: DueHabitReminder)] = []
        var evenings: [(user: Int, reminder: HabitDayReminder)] = []
        var motivations: [(user: Int, reminder: HabitDayReminder)] = []
        /// Reminders that what was done in the app has answered.
        var answers: [HabitReminderAnswered] = []
        /// The habits that have a reminder.
        var habits: [HabitReminderRepository.DueHabit] = []
    }

    private(set) var users: [HabitScheduleRepository.DueUser]
    private(set) var habits: [HabitReminderRepository.DueHabit]
    let clocks: [UserID: ZoneHistory]
    let now: Instant
    /// The places of a user's habits.
    private let places: [UserID: [Int]]
    private var changes: Set<Int> = []

    init(
        users: [HabitScheduleRepository.DueUser],
        habits: [HabitReminderRepository.DueHabit],
        clocks: [UserID: ZoneHistory],
        now: Instant
    ) {
        (self.users, self.habits, self.clocks, self.now) = (users, habits, clocks, now)
        places = Dictionary(grouping: habits.indices) { habits[$0].user }
    }

    /// The habits whose progress is another now.
    var changed: [(streak: StreakID, progress: HabitReminderRepository.Progress)] {
        changes.sorted().map { (habits[$0].streak, habits[$0].progress) }
    }

    func habits(of user: Int) -> [HabitReminderRepository.DueHabit] { (places[users[user].user] ?? []).map { habits[$0] } }

    /// Takes what is due, noting that it was handled, and says when each user is due again.
    mutating func takeDue() async -> Due {
        var due = Due()
        var slice = TimeSlice()
        for index in users.indices {
            let plan = HabitReminderPlan(zones: clocks[users[index].user] ?? ZoneHistory(.utc), at: now)
            var next = takeHabits(of: index, plan, &due)
            next += takeDay(of: index, plan, &due)
            // A user who has nothing to be reminded of is due again when there is a habit.
            let isWaiting = places[users[index].user] != nil || users[index].motivationSince != nil
            users[index].nextAt = isWaiting ? next.min() ?? now + .days(1) : nil
            await slice.yieldIfOver()
        }
        return due
    }

    private mutating func takeHabits(of user: Int, _ plan: HabitReminderPlan, _ due: inout Due) -> [Instant] {
        var next: [Instant] = []
        var found: [(habit: Int, reminder: DueHabitReminder)] = []
        for place in places[users[user].user] ?? [] {
            takeAnswer(of: place, &due)
            guard let time = habits[place].time else { continue }
            var reminder = habits[place].progress.reminder(time)
            if let taken = plan.due(reminder) {
                reminder.note(taken)
                habits[place].progress.handled = reminder.handled
                habits[place].progress.snoozes(reminder.snoozes)
                changes.insert(place)
                found.append((place, taken))
            }
            if let at = plan.next(reminder) { next.append(at) }
        }
        // The earliest first: those are what the free plan has (HA-17).
        due.reminders += found.sorted {
            ($0.reminder.at, habits[$0.habit].position) < ($1.reminder.at, habits[$1.habit].position)
        }
        due.habits += found.map { habits[$0.habit] }
        return next
    }

    private mutating func takeAnswer(of place: Int, _ due: inout Due) {
        let habit = habits[place]
        guard let answered = habit.progress.answered else { return }
        due.answers.append(
            HabitReminderAnswered(
                userID: habit.user,
                habitID: habit.id,
                date: answered.date,
                answer: answered.answer,
                byAction: false,
                habitName: habit.name,
                at: now
            )
        )
        habits[place].progress.answered = nil
        changes.insert(place)
    }

    private mutating func takeDay(of user: Int, _ plan: HabitReminderPlan, _ due: inout Due) -> [Instant] {
        let since = users[user].since
        if let evening = plan.evening(since: since, handled: users[user].eveningDate) {
            users[user].eveningDate = evening.date
            due.evenings.append((user, evening))
        }
        var next = [plan.nextEvening(since: since, handled: users[user].eveningDate)]
        if let wanted = users[user].motivationSince {
            let id = users[user].user
            if let word = plan.motivation(of: id, since: wanted, handled: users[user].motivationDate) {
                users[user].motivationDate = word.date
                due.motivations.append((user, word))
            }
            next.append(plan.nextMotivation(of: id, since: wanted, handled: users[user].motivationDate))
        }
        return next.compactMap { $0 }
    }

    /// What is said of what is due.
    mutating func events(of due: Due, _ open: OpenHabits, premium: Set<UserID>) -> [any Event] {
        let indices = Dictionary(users.indices.map { (users[$0].user, $0) }) { first, _ in first }
        var events: [any Event] = due.answers
        for (place, reminder) in due.reminders {
            let habit = habits[place]
            guard let user = indices[habit.user], open.isOpen(habit.streak, on: reminder.date) else { continue }
            let limits = HabitLimits.of(isPremium: premium.contains(habit.user))
            // One that was put off has been counted.
            guard reminder.isRepeat || users[user].allowance.take(on: reminder.date, limits) else { continue }
            habits[place].progress.awaitingDate = reminder.date
            events.append(event(habit, reminder))
        }
        for (user, reminder) in due.evenings {
            let left = open.left(of: habits(of: user), on: reminder.date)
            guard left > 0 else { continue }
            events.append(
                HabitsLeftToday(
                    userID: users[user].user,
                    date: reminder.date,
                    left: Int32(clamping: left),
                    usefulUntil: reminder.until
                )
            )
        }
        for (user, reminder) in due.motivations {
            let id = users[user].user
            events.append(
                HabitMotivationDue(
                    userID: id,
                    date: reminder.date,
                    number: HabitReminderPlan.motivationNumber(of: id, on: reminder.date),
                    usefulUntil: reminder.until
                )
            )
        }
        return events
    }

    private func event(_ habit: HabitReminderRepository.DueHabit, _ reminder: DueHabitReminder) -> HabitReminderDue {
        HabitReminderDue(
            userID: habit.user,
            habitID: habit.id,
            streakID: habit.streak,
            date: reminder.date,
            habitName: habit.name,
            icon: habit.icon,
            number: Int32(clamping: reminder.number),
            snoozesLeft: Int32(clamping: HabitReminder.mostSnoozes - reminder.number),
            usefulUntil: reminder.until
        )
    }
}

/// Which habits have something to do, as the fold says (HA-8): of those that remind now, and of all of a user whose evening it is.
struct OpenHabits: Sendable {
    private var states: [StreakID: HabitState] = [:]

    init(of due: HabitReminderBatch.Due, _ batch: HabitReminderBatch, _ store: StreakStore, _ sql: Transaction) async throws {
        let evenings = due.evenings.flatMap { batch.habits(of: $0.user).map(\.streak) }
        let streaks = Set(due.habits.map(\.streak) + evenings)
        guard !streaks.isEmpty else { return }
        let policy = store.policies.policy(for: .habit)
        var slice = TimeSlice()
        for stored in try await store.load(streaks, isWhole: false, sql) {
            states[stored.row.id] = fold(stored.ledger, policy, at: max(batch.now, stored.row.settledAt)).habit
            await slice.yieldIfOver()
        }
    }

    func isOpen(_ streak: StreakID, on date: CalendarDate) -> Bool { states[streak]?.isOpen(on: date) ?? false }

    /// How many of these habits are still to be done on a date (HA-15, HA-18).
    func left(of habits: [HabitReminderRepository.DueHabit], on date: CalendarDate) -> Int {
        let list = habits.compactMap { habit -> HabitOfToday? in
            guard let state = states[habit.streak], let day = state.days[date] else { return nil }
            return HabitOfToday(day: day, week: state.week.flatMap { $0.dates.contains(date) ? $0 : nil })
        }
        return HabitDaySummary(list).left
    }
}
