internal import Bus
internal import CommonAPI
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksDomain

/// What a member sees of a streak (MS-4).
struct StreakView: Sendable {
    let row: StreakRow
    let yourDate: CalendarDate
    let friendDate: CalendarDate
    let youPosted: Bool
    let friendPosted: Bool
    let isAtRisk: Bool

    var pill: StatusPill {
        if isAtRisk { return .atRisk }
        if youPosted && friendPosted { return .bothPosted }
        return youPosted ? .waitingOnFriend : .waitingOnYou
    }
}

extension StreaksService {
    /// The views of rows; those whose date is due are settled first, because looking settles (SD-4).
    func views(_ rows: [StreakRow], of user: UserID, _ context: CallContext) async throws -> [StreakView] {
        let now = clock.now()
        let rows = try await settled(rows, now: now, context)
        guard !rows.isEmpty else { return [] }
        let people = [user] + rows.map { $0.friend(of: user) }
        async let histories = ZoneRepository.histories(of: people, streaks.database)
        // No clock on earth shows a date before yesterday's or after tomorrow's of UTC.
        let posted = try await streaks.contributions(to: rows.map(\.id), since: Zone.utc.date(at: now).advanced(by: -1))
        let zones = try await histories
        let yourDate = (zones[user] ?? ZoneHistory(.utc)).date(at: now)
        return rows.map { row in
            let friend = row.friend(of: user)
            let friendDate = (zones[friend] ?? ZoneHistory(.utc)).date(at: now)
            let dates = posted[row.id] ?? []
            return StreakView(
                row: row,
                yourDate: yourDate,
                friendDate: friendDate,
                youPosted: dates.contains(PostedDate(user: user, date: yourDate)),
                friendPosted: dates.contains(PostedDate(user: friend, date: friendDate)),
                isAtRisk: row.status == .active && row.atRiskFrom.map { now > $0 } ?? false
            )
        }
    }

    /// The item of a list.
    static func item(_ view: StreakView, friend: Profile?) -> StreakItem {
        let row = view.row
        return StreakItem(
            id: row.id.description,
            friend: friend?.summary,
            status: row.status,
            currentCount: row.count,
            longestCount: row.longest,
            lastCompletedDate: row.lastCompletedDate?.description,
            youPostedToday: view.youPosted,
            friendPostedToday: view.friendPosted,
            atRisk: view.isAtRisk,
            deadlineAt: row.status == .active ? row.deadlineAt : nil,
            statusPill: view.pill,
            startedAt: row.startedAt,
            brokenByUserID: row.brokenBy?.description,
            brokenAt: row.brokenAt
        )
    }

    private func settled(_ rows: [StreakRow], now: Instant, _ context: CallContext) async throws -> [StreakRow] {
        // A deadline moves on each midnight although nothing can break yet; lists must not show one that has passed.
        let stale = rows.filter { row in
            row.isDue(at: now) || (row.status == .active && row.deadlineAt.map { $0 <= now } ?? false)
        }
        guard !stale.isEmpty else { return rows }
        try await work.run(context) { [keeper] work in
            for stored in try await keeper.streaks.lock(stale.map(\.id), work.sql) { _ = try await keeper.settle(stored, work) }
        }
        var fresh: [StreakRow] = []
        for row in rows {
            if let again = try await streaks.row(row.id) { fresh.append(again) }
        }
        return fresh
    }
}
