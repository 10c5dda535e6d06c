internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain
internal import Wire

/// Emits reminders of users' solo streaks (NO-5). One row a user says when the next may be due; the events, the note that they were handled,
/// and when the next may be due are one transaction: each is emitted once, whatever dies.
struct SoloReminderJob: Sendable {
    private static let batch = 100

    let work: UnitOfWorkFactory
    let store: StreakStore

    var job: Job {
        Job(
            "solo_reminders",
            every: .seconds(5),
            oldestDue: { [store] in try await SoloReminderRepository.oldestDue(store.database) }
        ) { [self] now in
            try await work.run(trace: "", requestID: "") { work in try await emit(dueAt: now, work) }
        }
    }

    /// Handles one batch of users. - Returns: how many.
    func emit(dueAt now: Instant, limit: Int = batch, _ work: UnitOfWork) async throws -> Int {
        var due = try await SoloReminderRepository.lockDue(at: now, limit: limit, work.sql)
        guard !due.isEmpty else { return 0 }
        let facts = try await SoloFacts(due.map(\.user), now: now, store, work.sql)
        var slice = TimeSlice()
        var reminders: [(view: SoloView, due: [SoloReminder])] = []
        for index in due.indices {
            let view = facts.view(of: due[index].user, lastBreak: due[index].lastBreak)
            let found = view.plan.due(after: due[index].progress)
            for reminder in found { due[index].progress.note(reminder) }
            due[index].nextAt = view.isWaiting ? view.plan.next(after: due[index].progress, isDone: view.isAllDone) : nil
            reminders.append((view, found))
            await slice.yieldIfOver()
        }
        let endings = reminders.compactMap { view, due in due.first { $0.slot == .ending }.flatMap(view.lackingSnap) }
        let asked = try await mutualAtRisk(Dictionary(uniqueKeysWithValues: endings), now, work.sql)
        for (view, due) in reminders {
            for event in due.flatMap({ view.events(of: $0, isAskedForSnap: asked.contains(view.user)) }) {
                try await work.emit(event)
            }
            await slice.yieldIfOver()
        }
        try await SoloReminderRepository.store(due, work.sql)
        return due.count
    }

    /// Those of whom a mutual streak is at risk on their date: `ReminderJob` reminds them of it in the same minute.
    private func mutualAtRisk(_ dates: [UserID: CalendarDate], _ now: Instant, _ sql: Transaction) async throws -> Set<UserID> {
        guard !dates.isEmpty else { return [] }
        let running = try await LedgerReads.running(.mutual, of: Array(dates.keys), sql).filter { $0.row.count > 0 }
        let ledgers = try await store.ledgers(of: running, sql)
        let atRisk = running.filter { membership in
            guard let date = dates[membership.user] else { return false }
            return ledgers[membership.row.id]?.stake(of: membership.user, on: date, .mutual, at: now) != nil
        }
        return Set(atRisk.map(\.user))
    }
}

/// The users' solo streaks with their ledgers, from one statement a table for all of them.
private struct SoloFacts {
    private let now: Instant
    private let policies: StreakPolicies
    private var streaks: [UserID: [StoredStreak]] = [:]
    private var checkIns: [StreakID: [Instant]] = [:]
    private var clocks: [UserID: UserClock] = [:]

    init(_ users: [UserID], now: Instant, _ store: StreakStore, _ sql: Transaction) async throws {
        self.now = now
        policies = store.policies
        clocks = try await ZoneRepository.clocks(of: users, sql)
        let running = try await LedgerReads.unended(StreakKind.solo, of: users, sql)
        checkIns = try await LedgerReads.newestContributions(
            to: running.filter { $0.row.kind == .checkIn }.map(\.row.id),
            limit: SoloReminders.sample,
            sql
        )
        let owners = Dictionary(running.map { ($0.row.id, $0.user) }) { first, _ in first }
        for stored in try await store.load(running.map(\.row), isWhole: false, sql) {
            if let owner = owners[stored.row.id] { streaks[owner, default: []].append(stored) }
        }
    }

    func view(of user: UserID, lastBreak: SoloReminderRepository.Break?) -> SoloView {
        let mine = streaks[user] ?? []
        return SoloView(
            user: user,
            streaks: mine.map { ($0, policies.policy(for: $0.row.kind)) },
            checkIns: mine.first { $0.row.kind == .checkIn }.flatMap { checkIns[$0.row.id] } ?? [],
            zones: clocks[user]?.zones ?? ZoneHistory(.utc),
            lastBreak: lastBreak,
            now: now
        )
    }
}

/// One user's solo streaks at an instant.
private struct SoloView {
    let user: UserID
    private let streaks: [(stored: StoredStreak, policy: StreakPolicy)]
    private let checkIn: (stored: StoredStreak, policy: StreakPolicy, state: StreakState)?
    private let zones: ZoneHistory
    private let lastBreak: SoloReminderRepository.Break?
    private let now: Instant
    let plan: SoloReminders

    init(
        user: UserID,
        streaks: [(StoredStreak, StreakPolicy)],
        checkIns: [Instant],
        zones: ZoneHistory,
        lastBreak: SoloReminderRepository.Break?,
        now: Instant
    ) {
        (self.user, self.streaks, self.zones, self.lastBreak, self.now) = (user, streaks, zones, lastBreak, now)
        let found = streaks.first { $0.0.row.kind == .checkIn }.map { ($0.0, $0.1, fold($0.0.ledger, $0.1, at: now)) }
        checkIn = found
        plan = SoloReminders(
            zones: zones,
            count: found?.2.count ?? 0,
            usual: SoloReminders.usual(checkIns, zones),
            at: now
        )
    }

    private func situation(on date: CalendarDate) -> SoloSituation {
        guard let (stored, policy, state) = checkIn else { return SoloSituation(count: 0) }
        let pauses = stored.ledger.pauses
        return SoloSituation(
            count: state.count,
            isDone: stored.ledger.hasContributed(user, on: date, known: now),
            isPaused: pauses.contains { $0.from <= date && date < $0.until },
            isFirstAfterPause: pauses.contains { $0.until == date },
            missedDate: state.count == 0 ? lastBreak?.missedDate : nil,
            milestone: policy.nextMilestone(of: state)
        )
    }

    /// Whether there may be something to remind of before the next run begins.
    var isWaiting: Bool {
        situation(on: zones.date(at: now)).isWaiting(on: zones.date(at: now)) || streaks.contains { $0.stored.row.count > 0 }
    }

    /// Nothing is left to do on the user's present date.
    var isAllDone: Bool {
        let today = zones.date(at: now)
        return streaks.allSatisfy { $0.stored.row.count == 0 || $0.stored.ledger.hasContributed(user, on: today, known: now) }
            && !streaks.isEmpty && situation(on: today).missedDate == nil
    }

    /// Nil when the user has snapped on the date of a reminder, or has no streak of daily snaps.
    func lackingSnap(_ reminder: SoloReminder) -> (UserID, CalendarDate)? {
        let lacks = streaks.contains { stored, _ in
            stored.row.kind == .dailySnap && stored.row.count > 0
                && !stored.ledger.hasContributed(user, on: reminder.date, known: now)
        }
        return lacks ? (user, reminder.date) : nil
    }

    /// - Parameter isAskedForSnap: a reminder of a mutual streak asks for a snap: the same one keeps the daily snaps (NO-5).
    func events(of reminder: SoloReminder, isAskedForSnap: Bool) -> [any Event] {
        guard reminder.slot == .ending else { return message(of: reminder).map { [$0] } ?? [] }
        let outlooks = streaks.map { ($0.stored, $0.stored.ledger.outlook(on: reminder.date, $0.policy, at: now)) }
        let lost = outlooks.filter { $0.1 == .breaks && !(isAskedForSnap && $0.0.row.kind == .dailySnap) }
        let atRisk = lost.map { stored, _ in
            SoloStreakAtRisk(streakID: stored.row.id, kind: stored.row.kind.typeName, currentCount: stored.row.count)
        }
        var events: [any Event] = []
        if !atRisk.isEmpty {
            events.append(
                SoloStreaksAtRisk(
                    userID: user,
                    date: reminder.date,
                    dayEndsAt: reminder.until,
                    streaks: atRisk.sorted { ($1.currentCount, $0.streakID) < ($0.currentCount, $1.streakID) }
                )
            )
        }
        for case (let stored, .freeze) in outlooks where stored.row.kind == .checkIn {
            if let event = event(.freezeAhead, reminder) { events.append(event) }
        }
        for case (let stored, .protection(.shield)) in outlooks where stored.row.kind == .checkIn {
            if let event = event(.shieldAhead, reminder) { events.append(event) }
        }
        return events
    }

    private func message(of reminder: SoloReminder) -> StreakReminderDue? {
        let hour = Int(zones.zone(at: reminder.at).secondOfDay(at: reminder.at) / 3_600)
        guard let message = situation(on: reminder.date).message(reminder.slot, on: reminder.date, hour: hour) else { return nil }
        return event(message, reminder)
    }

    private func event(_ message: SoloMessage, _ reminder: SoloReminder) -> StreakReminderDue? {
        guard let (stored, policy, state) = checkIn else { return nil }
        var event = StreakReminderDue(
            userID: user,
            streakID: stored.row.id,
            date: reminder.date,
            kind: kind(of: message),
            currentCount: Int32(clamping: state.count),
            longestCount: Int32(clamping: state.longest),
            freezesLeft: Int32(clamping: state.freezesLeft),
            usefulUntil: reminder.until
        )
        switch message {
        case .milestone(let count, _):
            event.milestone = Int32(clamping: count)
            event.unlock = Unlock.opened(by: count).first { $0.effect == .flame }?.title ?? ""
        case .afterBreak(let days):
            event.currentCount = lastBreak?.lostCount ?? 0
            if days == 1 { event.repairableUntil = repairableUntil(stored.ledger, policy) }
        default: break
        }
        return event
    }

    /// Until when the broken run can be repaired; nil when it cannot be (CI-3).
    private func repairableUntil(_ ledger: StreakLedger, _ policy: StreakPolicy) -> Instant? {
        guard let lastBreak else { return nil }
        return ledger.repairableUntil(breakAt: lastBreak.brokenAt, count: Int(lastBreak.lostCount), policy, at: now)
    }

    private func kind(of message: SoloMessage) -> StreakReminderKind {
        switch message {
        case .morning: .morning
        case .afternoon: .afternoon
        case .evening: .evening
        case .freezeAhead: .freezeAhead
        case .shieldAhead: .shieldAhead
        case .milestone(_, 0): .milestoneToday
        case .milestone(_, 1): .milestoneTomorrow
        case .milestone: .milestoneInTwoDays
        case .afterBreak(1): .firstDayAfterBreak
        case .afterBreak(2): .secondDayAfterBreak
        case .afterBreak: .seventhDayAfterBreak
        case .pauseEnded: .pauseEnded
        }
    }
}
