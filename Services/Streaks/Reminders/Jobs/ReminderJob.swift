internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain
internal import Wire

/// Emits users' reminders: of their snap window, and of a day that ends with streaks at risk (PW-2, NO-5).
///
/// One row a user says when the next may be due. The events, the note that they were emitted, and when the next may be due are one
/// transaction: each reminder is emitted once, whatever dies, and one that is of no use any more (an outage, a clock that was moved) is
/// dropped.
struct ReminderJob: Sendable {
    private static let batch = 100

    let work: UnitOfWorkFactory
    let store: StreakStore

    var job: Job {
        Job(
            "reminders",
            every: .seconds(5),
            oldestDue: { [store] in try await ReminderRepository.oldestDue(store.database) }
        ) { [self] now in
            try await work.run(trace: "", requestID: "") { work in try await emit(dueAt: now, work) }
        }
    }

    /// Handles one batch of users. - Returns: how many.
    func emit(dueAt now: Instant, limit: Int = batch, _ work: UnitOfWork) async throws -> Int {
        var due = try await ReminderRepository.lockDue(at: now, limit: limit, work.sql)
        guard !due.isEmpty else { return 0 }
        let users = due.map(\.user)
        let clocks = try await ZoneRepository.clocks(of: users, work.sql)
        var reminders: [UserID: [Reminder]] = [:]
        var slice = TimeSlice()
        for index in due.indices {
            let clock = clocks[due[index].user] ?? UserClock()
            let plan = UserReminders(of: due[index].user, zones: clock.zones, startHour: clock.windowStartHour, at: now)
            let found = plan.due(after: due[index].progress)
            for reminder in found { due[index].progress.note(reminder) }
            due[index].nextAt = plan.next(after: due[index].progress)
            reminders[due[index].user] = found
            await slice.yieldIfOver()
        }
        let facts = try await Facts(users, reminders, now: now, store, work.sql)
        for index in due.indices {
            let user = due[index].user
            // A user whose last streak has ended is due again when another begins.
            if !facts.isRunning(user) { due[index].nextAt = nil }
            for reminder in reminders[user] ?? [] {
                if let event = facts.event(of: reminder, for: user, clocks[user] ?? UserClock()) {
                    try await work.emit(event)
                }
            }
            await slice.yieldIfOver()
        }
        try await ReminderRepository.store(due, work.sql)
        return due.count
    }
}

extension StreakStore {
    /// The ledgers of these memberships' streaks, from their checkpoints on.
    func ledgers(of memberships: [LedgerReads.Membership], _ sql: Transaction) async throws -> [StreakID: StreakLedger] {
        let rows = Dictionary(memberships.map { ($0.row.id, $0.row) }) { first, _ in first }
        let stored = try await load(Array(rows.values), isWhole: false, sql)
        return Dictionary(uniqueKeysWithValues: stored.map { ($0.row.id, $0.ledger) })
    }
}

/// The users' running streaks, from one statement a table for all of them.
private struct Facts {
    private let now: Instant
    private let prompt: DailyPrompt
    private var streaks: [UserID: [LedgerReads.Membership]] = [:]
    private var posted: Set<PostedDate> = []
    /// Of streaks whose stored state does not say enough.
    private var ledgers: [StreakID: StreakLedger] = [:]

    init(
        _ users: [UserID],
        _ reminders: [UserID: [Reminder]],
        now: Instant,
        _ store: StreakStore,
        _ sql: Transaction
    ) async throws {
        self.now = now
        prompt = DailyPrompt.of(Zone.utc.date(at: now))
        let memberships = try await LedgerReads.running(.mutual, of: users, sql)
        streaks = Dictionary(grouping: memberships, by: \.user)
        let concerned = memberships.filter { reminders[$0.user]?.isEmpty == false }
        guard let earliest = reminders.values.joined().map(\.date).min(), !concerned.isEmpty else { return }
        posted = try await LedgerReads.contributions(to: concerned.map(\.row.id), since: earliest, sql)
        // A date that waits to be settled may have broken the streak; what a lost date costs only the ledger says.
        let doubtful = concerned.filter { membership in
            membership.row.isDue(at: now)
                || reminders[membership.user, default: []].contains { reminder in
                    reminder.kind == .dayEnding && membership.row.count > 0
                        && !has(posted: membership.user, membership.row.id, reminder.date)
                }
        }
        ledgers = try await store.ledgers(of: doubtful, sql)
    }

    func isRunning(_ user: UserID) -> Bool { streaks[user]?.isEmpty == false }

    /// nil when there is nothing to remind of after all.
    func event(of reminder: Reminder, for user: UserID, _ clock: UserClock) -> (any Event)? {
        let isChosen = clock.windowStartHour != SnapWindow.defaultStartHour
        let running = running(user)
        guard !running.isEmpty else { return nil }
        switch reminder.kind {
        case .windowOpened:
            return SnapWindowOpened(
                userID: user,
                date: reminder.date,
                promptID: prompt.id,
                promptText: prompt.text,
                promptEmoji: prompt.emoji,
                opensAt: reminder.window.opensAt,
                closesAt: reminder.window.closesAt,
                waitingFriendIDs: waiting(running, reminder.date),
                hourIsChosen: isChosen
            )
        case .windowClosing:
            // A window may reach into the next date: a user who has posted for either has used it.
            let dates: Set = [reminder.date, clock.zones.date(at: now)]
            guard !running.contains(where: { streak in dates.contains { has(posted: user, streak.row.id, $0) } }) else {
                return nil
            }
            return SnapWindowClosing(
                userID: user,
                date: reminder.date,
                promptID: prompt.id,
                promptText: prompt.text,
                promptEmoji: prompt.emoji,
                closesAt: reminder.window.closesAt,
                waitingFriendIDs: waiting(running, reminder.date),
                hourIsChosen: isChosen
            )
        case .dayEnding:
            let atRisk = running.compactMap { streak -> StreakAtRisk? in
                guard let stake = ledgers[streak.row.id]?.stake(of: user, on: reminder.date, .mutual, at: now) else {
                    return nil
                }
                return StreakAtRisk(
                    streakID: streak.row.id,
                    friendID: streak.partner,
                    currentCount: Int32(stake.count),
                    deadlineAt: stake.deadline
                )
            }
            guard !atRisk.isEmpty else { return nil }
            return StreaksAtRisk(
                userID: user,
                date: reminder.date,
                dayEndsAt: reminder.until,
                streaks: atRisk.sorted { ($1.currentCount, $0.streakID) < ($0.currentCount, $1.streakID) }
            )
        }
    }

    /// Those that still run when what is due has been settled.
    private func running(_ user: UserID) -> [LedgerReads.Membership] {
        streaks[user, default: []].filter { streak in
            guard streak.row.isDue(at: now), let ledger = ledgers[streak.row.id] else { return true }
            return fold(ledger, .mutual, at: now).status == .active
        }
    }

    /// The friends who wait for a snap: who has posted first, then those with the highest count.
    private func waiting(_ running: [LedgerReads.Membership], _ date: CalendarDate) -> [UserID] {
        running.filter { !has(posted: $0.user, $0.row.id, date) }
            .map { (hasPosted: has(posted: $0.partner, $0.row.id, date), count: $0.row.count, friend: $0.partner) }
            .sorted { ($0.hasPosted ? 0 : 1, $1.count, $0.friend) < ($1.hasPosted ? 0 : 1, $0.count, $1.friend) }
            .map(\.friend)
    }

    private func has(posted user: UserID, _ streak: StreakID, _ date: CalendarDate) -> Bool {
        posted.contains(PostedDate(streak: streak, user: user, date: date))
    }
}
