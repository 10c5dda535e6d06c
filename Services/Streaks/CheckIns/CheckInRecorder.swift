internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What became of a report.
struct RecordedReport: Sendable {
    let streak: SettledCheckIns
    /// The date it counts for.
    let date: CalendarDate
    /// Whether it is that date's check-in.
    let isFirst: Bool
    /// Whether it is an activity that counts (CI-1).
    let qualifies: Bool
    let entry: TrackingEntry
    let lastCheckIn: CalendarDate?
    /// Everything that the check-in earned; nil unless it is one.
    let earned: EarnedByCheckIn?
    /// The client's time was not believed, and the time of receipt counts (SD-2).
    let isCaptureIgnored: Bool

    var view: CheckInStreak {
        CheckInStreak(
            currentStreak: Int32(streak.state.count),
            longestStreak: Int32(streak.state.longest),
            freezesAvailable: Int32(streak.state.freezesLeft),
            lastCheckInDate: lastCheckIn,
            isFirstCheckInToday: isFirst
        )
    }
}

/// Records what a user reports for a date: the first activity that counts is the date's check-in, what follows updates the entry
/// (CI-1).
///
/// In two round trips to the database: the lock and all reads, then all writes with the commit.
struct CheckInRecorder: Sendable {
    let streaks: CheckInStreaks

    /// What a report is recorded by: being read.
    struct Queued: Sendable {
        fileprivate let streak: QueuedStreak
        fileprivate let facts: QueuedStatement
    }

    /// Queues the lock of the streak and all reads.
    ///
    /// - Parameter condition: where it is false, nothing is locked.
    func enqueue(_ user: UserID, receivedAt: Instant, if condition: Query = "true", _ work: UnitOfWork) throws -> Queued {
        Queued(
            streak: try streaks.writer.store.enqueueLock(.checkIn, of: user, if: condition, work.sql),
            facts: try work.sql.enqueue(CheckInFacts.query(of: user, receivedAt: receivedAt, now: work.now))
        )
    }

    /// - Parameters:
    ///   - receivedAt: decides the date (SD-1).
    ///   - queued: what `enqueue` has queued for the same user and instant.
    /// - Throws: `STREAK_NOT_ACTIVE`.
    func record(_ report: TrackingReport, of user: UserID, receivedAt: Instant, by queued: Queued, _ work: UnitOfWork)
        async throws
        -> RecordedReport
    {
        let begun = StreakWriter.FirstActivity(receivedAt: receivedAt, capturedAt: report.capturedAt)
        let stored = try await streaks.locked(queued.streak, of: user, first: begun, work)
        let facts = try CheckInFacts(try await queued.facts.rows())
        let activities = report.activities(stepsGoal: facts.stepsGoal)
        let written = try await contribute(report, activities, stored, user, receivedAt, work)
        let first = written.change.creditedTo
        let settled = SettledCheckIns(written)
        let claim = settled.claim(receivedAt: receivedAt, capturedAt: report.capturedAt, streaks.policy)
        let date = first ?? claim.date
        var kept = report
        // Only the first date of a run asks how yesterday was.
        if settled.state.runStart != date { kept.yesterdayFeeling = nil }
        let entry = try await store(kept, activities, user, date, facts, checkedInAt: first == nil ? nil : receivedAt, work)
        var earned: EarnedByCheckIn?
        if let first { earned = try await award(first, facts, settled, written, user, work) }
        // Of a streak that has just begun what was given meanwhile is asked for again.
        if facts.shields > 0 || written.row.longest == 0 { try await armShields(of: user, at: receivedAt, work) }
        return RecordedReport(
            streak: settled,
            date: date,
            isFirst: first != nil,
            qualifies: !activities.isEmpty,
            entry: entry,
            lastCheckIn: [facts.lastCheckIn?.date, first].compactMap(\.self).max(),
            earned: earned,
            isCaptureIgnored: claim.isCaptureIgnored
        )
    }

    /// Shields that were bought before there was a check-in streak to protect begin with this check-in (`BoughtShield`).
    private func armShields(of user: UserID, at receivedAt: Instant, _ work: UnitOfWork) async throws {
        guard streaks.writer.boughtShield == .armed else { return }
        let taken = try await GoodsStock.take(upTo: .max, of: .shield, from: user, work.sql)
        guard taken > 0 else { return }
        _ = try await streaks.writer.arm(shields: Int(taken), of: user, at: receivedAt, work)
    }

    /// The entry of the date with the report. No other transaction writes it meanwhile: the streak is locked.
    private func store(
        _ report: TrackingReport,
        _ activities: [TrackedActivity],
        _ user: UserID,
        _ date: CalendarDate,
        _ facts: CheckInFacts,
        checkedInAt: Instant?,
        _ work: UnitOfWork
    ) async throws -> TrackingEntry {
        let id: TrackingEntryID = work.ids.make()
        let stored = try TrackingRepository.store(
            report,
            activities,
            of: user,
            on: date,
            checkedInAt: checkedInAt,
            ids: (id, work.ids.make()),
            at: work.now,
            work.sql
        )
        guard checkedInAt != nil, facts.isKnown(date) else {
            let tracked = try await TrackingRepository.stored(stored)
            if checkedInAt == nil, tracked.isFirstUpdate {
                try await work.emit(CheckInUpdated(userID: user, date: date, at: work.now))
            }
            return tracked.entry
        }
        return TrackingEntry.adding(
            report,
            activities.map(\.rawValue),
            to: facts.entry(date),
            id: id,
            on: date,
            checkedInAt: checkedInAt,
            at: work.now
        )
    }

    /// The contribution, or at least what was due: a report that counts for nothing settles too.
    private func contribute(
        _ report: TrackingReport,
        _ activities: [TrackedActivity],
        _ stored: StoredStreak,
        _ user: UserID,
        _ receivedAt: Instant,
        _ work: UnitOfWork
    ) async throws -> PlannedChange {
        let activity = StreakWriter.FirstActivity(receivedAt: receivedAt, capturedAt: report.capturedAt)
        let zones = stored.ledger.participants.first?.zones ?? ZoneHistory(.utc)
        let command = StreakCommand.contribute(
            user,
            receivedAt: activity.received(in: stored.ledger, by: zones, streaks.policy),
            capturedAt: report.capturedAt
        )
        if !activities.isEmpty {
            do { return try await streaks.writer.apply(command, to: stored, work) } catch let refusal as ServiceError
                where refusal.reason == "ALREADY_POSTED"
            {}
        }
        return try await streaks.writer.apply(.settle, to: stored, work)
    }

    /// The XP of a check-in and of what it completed (CI-6). Those of milestones come by `CheckInFollower`.
    private func award(
        _ date: CalendarDate,
        _ facts: CheckInFacts,
        _ settled: SettledCheckIns,
        _ written: PlannedChange,
        _ user: UserID,
        _ work: UnitOfWork
    ) async throws -> EarnedByCheckIn {
        let base = XPRules.checkIn(isPremium: facts.isPremium, isBoosted: facts.isBoosted)
        var entries = [XPEntry(user, key: "check_in:\(date)", amount: base, cause: "check_in")]
        let completed = try await PerfectDates.completed(by: date, in: written, work)
        entries += completed.map { XPEntry(user, key: $0.key, amount: $0.xp, cause: $0.kind.rawValue) }
        // The first check-in of a date is posted with it; a perfect week may have been before.
        let isNew = entries.count == 1 && facts.isKnown(date) && facts.entry(date)?.checkInTimestamp == nil
        if !isNew {
            // No other transaction posts them: the streak is locked.
            let posted = try await XPLedger.posted(entries, work.sql)
            entries.removeAll { posted.contains($0) }
        }
        try XPLedger.post(entries, work)
        let coins = try await CheckInCoins.of([written], work)
        return EarnedByCheckIn(
            written,
            xp: entries.reduce(0) { $0 + $1.amount },
            coins: coins.reduce(0) { $0 + $1.amount },
            special: try await special(written, completed, user, work)
        )
    }

    /// The badges of no count that this check-in has brought, as what follows changes has granted them.
    private func special(
        _ written: PlannedChange,
        _ completed: [PerfectPeriods.Period],
        _ user: UserID,
        _ work: UnitOfWork
    ) async throws -> [Badge] {
        guard Badge.mayBeSpecial(written.change.effects, completed: completed) else { return [] }
        return try await RewardRepository.badges(of: user, earnedAt: work.now, work.sql).filter { $0.count == nil }
    }
}
