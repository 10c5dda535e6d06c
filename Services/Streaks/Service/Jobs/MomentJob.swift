internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
internal import StreaksAPI
internal import StreaksDomain
internal import Wire

/// Tells of the moments of people's days: their snap window, and a day that ends with streaks at risk (PW-2, NO-5).
///
/// One row a person says when to look next. What they are told, that they were told it, and when to look again are one transaction:
/// each moment is told once, whatever dies, and one that is of no use any more (an outage, a clock that was moved) is dropped.
struct MomentJob: Sendable {
    private static let batch = 100

    let work: UnitOfWorkFactory
    let streaks: StreakRepository

    var job: Job {
        Job(
            "moments",
            every: .seconds(5),
            oldestDue: { [streaks] in try await MomentRepository.oldestDue(streaks.database) }
        ) { [self] now in
            try await work.run(trace: "", requestID: "") { work in try await Self.tell(dueAt: now, work) }
        }
    }

    /// Deals with one batch of people. - Returns: how many.
    static func tell(dueAt now: Instant, limit: Int = batch, _ work: UnitOfWork) async throws -> Int {
        var due = try await MomentRepository.lockDue(at: now, limit: limit, work.sql)
        guard !due.isEmpty else { return 0 }
        let users = due.map(\.user)
        let clocks = try await ZoneRepository.clocks(of: users, work.sql)
        var moments: [UserID: [Moment]] = [:]
        var slice = TimeSlice()
        for index in due.indices {
            let clock = clocks[due[index].user] ?? UserClock()
            let plan = UserMoments(of: due[index].user, zones: clock.zones, startHour: clock.windowStartHour, at: now)
            let found = plan.due(after: due[index].progress)
            for moment in found { due[index].progress.note(moment) }
            due[index].nextAt = plan.next(after: due[index].progress)
            moments[due[index].user] = found
            await slice.yieldIfOver()
        }
        let facts = try await Facts(users, moments, now: now, work.sql)
        for index in due.indices {
            let user = due[index].user
            // Whose last streak has gone is looked at again when another begins.
            if !facts.isRunning(user) { due[index].nextAt = nil }
            for moment in moments[user] ?? [] {
                if let event = facts.event(of: moment, for: user, zones: clocks[user]?.zones ?? ZoneHistory(.utc)) {
                    try await work.emit(event)
                }
            }
            await slice.yieldIfOver()
        }
        try await MomentRepository.store(due, work.sql)
        return due.count
    }
}

/// What is known of people's running streaks, from one statement a table for all of them.
private struct Facts {
    private let now: Instant
    private let prompt: DailyPrompt
    private var streaks: [UserID: [MomentRepository.Membership]] = [:]
    private var posted: Set<PostedDate> = []
    /// Of streaks whose stored state does not say enough.
    private var ledgers: [StreakID: StreakLedger] = [:]

    init(_ users: [UserID], _ moments: [UserID: [Moment]], now: Instant, _ sql: Transaction) async throws {
        self.now = now
        prompt = DailyPrompt.of(Zone.utc.date(at: now))
        let memberships = try await MomentRepository.memberships(of: users, sql)
        streaks = Dictionary(grouping: memberships, by: \.user)
        let concerned = memberships.filter { moments[$0.user]?.isEmpty == false }
        guard let earliest = moments.values.joined().map(\.date).min(), !concerned.isEmpty else { return }
        posted = try await StreakRepository.contributions(to: concerned.map(\.row.id), since: earliest, sql)
        // A date that waits to be settled may have broken the streak; what a lost date costs only the ledger says.
        let doubtful = concerned.filter { membership in
            membership.row.isDue(at: now)
                || moments[membership.user, default: []].contains { moment in
                    moment.kind == .dayEnding && membership.row.count > 0
                        && !has(posted: membership.user, membership.row.id, moment.date)
                }
        }
        let rows = Dictionary(doubtful.map { ($0.row.id, $0.row) }, uniquingKeysWith: { row, _ in row }).map(\.value)
        for stored in try await StreakRepository.load(rows, sql) { ledgers[stored.row.id] = stored.ledger }
    }

    func isRunning(_ user: UserID) -> Bool { streaks[user]?.isEmpty == false }

    /// nil when there is nothing to tell of it after all.
    func event(of moment: Moment, for user: UserID, zones: ZoneHistory) -> (any Event)? {
        let running = running(user)
        guard !running.isEmpty else { return nil }
        switch moment.kind {
        case .windowOpened:
            return SnapWindowOpened(
                userID: user.description,
                date: moment.date.description,
                promptID: prompt.id,
                promptText: prompt.text,
                promptEmoji: prompt.emoji,
                opensAt: moment.window.opensAt,
                closesAt: moment.window.closesAt,
                waitingFriendIDs: waiting(running, moment.date)
            )
        case .windowClosing:
            // A window may reach into the next date: whoever has posted for either has used it.
            let dates: Set = [moment.date, zones.date(at: now)]
            guard !running.contains(where: { streak in dates.contains { has(posted: user, streak.row.id, $0) } }) else {
                return nil
            }
            return SnapWindowClosing(
                userID: user.description,
                date: moment.date.description,
                promptID: prompt.id,
                promptText: prompt.text,
                promptEmoji: prompt.emoji,
                closesAt: moment.window.closesAt,
                waitingFriendIDs: waiting(running, moment.date)
            )
        case .dayEnding:
            let atRisk = running.compactMap { streak -> StreakAtRisk? in
                guard let stake = ledgers[streak.row.id]?.stake(of: user, on: moment.date, StreakKeeper.policy, at: now) else {
                    return nil
                }
                return StreakAtRisk(
                    streakID: streak.row.id.description,
                    friendID: streak.friend.description,
                    currentCount: Int32(stake.count),
                    deadlineAt: stake.deadline
                )
            }
            guard !atRisk.isEmpty else { return nil }
            return StreaksAtRisk(
                userID: user.description,
                date: moment.date.description,
                dayEndsAt: moment.until,
                streaks: atRisk.sorted { ($1.currentCount, $0.streakID) < ($0.currentCount, $1.streakID) }
            )
        }
    }

    /// Those that still run when what is due has been settled.
    private func running(_ user: UserID) -> [MomentRepository.Membership] {
        streaks[user, default: []].filter { streak in
            guard streak.row.isDue(at: now), let ledger = ledgers[streak.row.id] else { return true }
            return fold(ledger, StreakKeeper.policy, at: now).status == .active
        }
    }

    /// The friends who wait for a snap: who has posted first, then those with the highest count.
    private func waiting(_ running: [MomentRepository.Membership], _ date: CalendarDate) -> [String] {
        running.filter { !has(posted: $0.user, $0.row.id, date) }
            .map { (hasPosted: has(posted: $0.friend, $0.row.id, date), count: $0.row.count, friend: $0.friend) }
            .sorted { ($0.hasPosted ? 0 : 1, $1.count, $0.friend) < ($1.hasPosted ? 0 : 1, $0.count, $1.friend) }
            .map(\.friend.description)
    }

    private func has(posted user: UserID, _ streak: StreakID, _ date: CalendarDate) -> Bool {
        posted.contains(PostedDate(streak: streak, user: user, date: date))
    }
}
