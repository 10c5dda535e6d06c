internal import Bus
internal import CommonAPI
internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a member sees of a mutual streak (MS-4).
struct MutualStreak: Sendable {
    let row: StreakRow
    let partnerID: UserID
    /// nil unless partners were asked for.
    let partner: UserSummary?
    let yourDate: CalendarDate
    let partnerDate: CalendarDate
    /// The earliest date that is not over for the streak, and the newest the partner's clock has shown (SD-4, PH-4).
    let openFrom: CalendarDate
    let partnerNewest: CalendarDate
    let youPosted: Bool
    let partnerPosted: Bool
    let isAtRisk: Bool
    /// nil unless the streak is active.
    let pill: MutualView.Pill?

    /// The item of a list.
    var item: StreakItem {
        StreakItem(
            id: row.id,
            friend: partner,
            status: StreakStatus(row.status),
            currentCount: row.count,
            longestCount: row.longest,
            lastCompletedDate: row.lastCompletedDate,
            youPostedToday: youPosted,
            friendPostedToday: partnerPosted,
            atRisk: isAtRisk,
            deadlineAt: deadline,
            statusPill: pill.map { StatusPill($0) },
            startedAt: row.startedAt,
            brokenByUserID: row.brokenBy,
            brokenAt: row.brokenAt
        )
    }

    /// nil unless the streak is active.
    var deadline: Instant? { row.status == .active ? row.deadlineAt : nil }
}

/// Mutual streaks as their members see them.
struct MutualViews: Sendable {
    let reads: StreakReads
    let writer: StreakWriter
    let profiles: ProfileReplica
    let work: UnitOfWorkFactory
    let clock: any Clock

    /// What a user sees of some streaks, with the partners' names if asked for; none whose partner a block hides (SO-7). Streaks whose
    /// date is due are settled first: a streak is always read settled (SD-4).
    func streaks(_ selection: StreakSelection, of user: UserID, withPartners: Bool, _ context: CallContext) async throws
        -> [MutualStreak]
    {
        let now = clock.now()
        var seen = try await reads.seen(selection, by: user, withPartners: withPartners, now: now)
        // A deadline moves on each midnight although nothing can break yet; lists must not show one that has passed.
        let stale = seen.map(\.row).filter { row in
            row.isDue(at: now) || (row.status == .active && row.deadlineAt.map { $0 <= now } ?? false)
        }
        if !stale.isEmpty {
            try await work.run(context) { [writer] work in
                let due = try await writer.store.lock(stale.map(\.id), work.sql)
                try await writer.settle(due, urgency: .now, work)
            }
            seen = try await reads.seen(selection, by: user, withPartners: withPartners, now: now)
        }
        let posted = try await postedDates(seen, by: user)
        let unknown = withPartners ? seen.filter { $0.partner == nil }.map(\.partnerID) : []
        let asked = unknown.isEmpty ? [:] : try await profiles.profiles(unknown, context: context)
        return seen.map { view($0, of: user, posted, partner: $0.partner ?? asked[$0.partnerID]?.summary, at: now) }
    }

    private func view(
        _ streak: SeenStreak,
        of user: UserID,
        _ posted: Set<PostedDate>,
        partner: UserSummary?,
        at now: Instant
    ) -> MutualStreak {
        let row = streak.row
        func hasPosted(_ member: UserID, _ date: CalendarDate) -> Bool {
            let newest = streak.newestDate(of: member)
            guard let newest, newest > date else { return newest == date }
            return posted.contains(PostedDate(streak: row.id, user: member, date: date))
        }
        let isAtRisk = row.status == .active && row.atRiskFrom.map { now > $0 } ?? false
        let pill = row.openDate.map { open in
            MutualView.pill(
                isAtRisk: isAtRisk,
                open: open,
                you: .init(date: streak.yourDate, hasPosted: hasPosted(user, open)),
                friend: .init(date: streak.partnerDate, hasPosted: hasPosted(streak.partnerID, open))
            )
        }
        return MutualStreak(
            row: row,
            partnerID: streak.partnerID,
            partner: partner,
            yourDate: streak.yourDate,
            partnerDate: streak.partnerDate,
            openFrom: streak.openFrom,
            partnerNewest: streak.partnerNewest,
            youPosted: hasPosted(user, streak.yourDate),
            partnerPosted: hasPosted(streak.partnerID, streak.partnerDate),
            isAtRisk: isAtRisk,
            pill: row.status == .active ? pill : nil
        )
    }

    /// What the ledgers hold of streaks whose newest date lies after a date that is asked about: a member posted and then travelled west
    /// (SD-3), or is a date ahead of the open one.
    private func postedDates(_ seen: [SeenStreak], by user: UserID) async throws -> Set<PostedDate> {
        func earliest(_ streak: SeenStreak) -> CalendarDate? {
            let yours = [streak.yourDate, streak.row.openDate].compactMap { $0 }.min()
            let theirs = [streak.partnerDate, streak.row.openDate].compactMap { $0 }.min()
            let isDoubtful = [(user, yours), (streak.partnerID, theirs)].contains { member, date in
                streak.newestDate(of: member).flatMap { newest in date.map { newest > $0 } } ?? false
            }
            return isDoubtful ? [yours, theirs].compactMap { $0 }.min() : nil
        }
        let doubtful = seen.filter { earliest($0) != nil }
        guard let date = doubtful.compactMap(earliest).min() else { return [] }
        return try await LedgerReads.contributions(to: doubtful.map(\.row.id), since: date, reads.store.database)
    }

    /// One of them with its whole ledger and its state now; nil when `user` is no member, and while a block hides the partner (SO-7).
    func whole(_ id: StreakID, seenBy user: UserID) async throws -> (stored: StoredStreak, state: StreakState)? {
        guard let stored = try await reads.whole(id, seenBy: user) else { return nil }
        return (stored, fold(stored.ledger, .mutual, at: max(clock.now(), stored.row.settledAt)))
    }
}

extension StreakStatus {
    init(_ status: StreakState.Status) {
        switch status {
        case .active: self = .active
        case .broken: self = .broken
        case .ended: self = .ended
        }
    }
}

extension StatusPill {
    init(_ pill: MutualView.Pill) {
        switch pill {
        case .bothPosted: self = .bothPosted
        case .waitingOnYou: self = .waitingOnYou
        case .waitingOnFriend: self = .waitingOnFriend
        case .atRisk: self = .atRisk
        }
    }
}

extension CalendarDay {
    init(_ day: MutualView.Day) {
        self.init(
            date: day.date,
            mark: CalendarMark(day.mark),
            completed: day.youPosted,
            partnerCompleted: day.friendPosted
        )
    }
}

extension CalendarMark {
    init(_ mark: MutualView.CalendarMark) {
        switch mark {
        case .none: self = .none
        case .you: self = .you
        case .friend: self = .friend
        case .both: self = .both
        case .broken: self = .broken
        case .recovered: self = .recovered
        }
    }
}
