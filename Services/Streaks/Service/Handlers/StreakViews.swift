internal import Bus
internal import CommonAPI
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// What a member sees of a streak (MS-4).
struct StreakView: Sendable {
    let row: StreakRow
    let friendID: UserID
    /// nil unless friends were asked for.
    let friend: UserSummary?
    let yourDate: CalendarDate
    let friendDate: CalendarDate
    /// The earliest date that is not over for the streak, and the newest the friend's clock has shown (SD-4, PH-4).
    let openFrom: CalendarDate
    let friendNewest: CalendarDate
    let youPosted: Bool
    let friendPosted: Bool
    let isAtRisk: Bool

    /// nil unless the streak is active.
    var pill: StatusPill? {
        guard row.status == .active else { return nil }
        if isAtRisk { return .atRisk }
        if youPosted && friendPosted { return .bothPosted }
        return youPosted ? .waitingOnFriend : .waitingOnYou
    }
}

extension StreaksService {
    /// What a member sees of some streaks, the friends' names included if wished; none with somebody whom a block hides (SO-7). Streaks whose date is due are settled first, because
    /// looking settles (SD-4).
    func views(_ selection: StreakSelection, of user: UserID, withFriends: Bool, _ context: CallContext) async throws
        -> [StreakView]
    {
        let now = clock.now()
        var seen = try await streaks.seen(selection, by: user, withFriends: withFriends, now: now)
        // A deadline moves on each midnight although nothing can break yet; lists must not show one that has passed.
        let stale = seen.map(\.row).filter { row in
            row.isDue(at: now) || (row.status == .active && row.deadlineAt.map { $0 <= now } ?? false)
        }
        if !stale.isEmpty {
            try await work.run(context) { [keeper] work in
                let due = try await keeper.streaks.lock(stale.map(\.id), work.sql)
                try await keeper.settle(due, work)
            }
            seen = try await streaks.seen(selection, by: user, withFriends: withFriends, now: now)
        }
        let posted = try await postedDates(seen, by: user)
        let unknown = withFriends ? seen.filter { $0.friend == nil }.map { $0.row.friend(of: user) } : []
        let told = unknown.isEmpty ? [:] : try await profiles.profiles(unknown, context: context)
        return seen.map { streak in
            let friend = streak.row.friend(of: user)
            func hasPosted(_ person: UserID, _ date: CalendarDate) -> Bool {
                guard let newest = streak.row.newestDate(of: person), newest > date else {
                    return streak.row.newestDate(of: person) == date
                }
                return posted.contains(PostedDate(streak: streak.row.id, user: person, date: date))
            }
            return StreakView(
                row: streak.row,
                friendID: friend,
                friend: streak.friend ?? told[friend]?.summary,
                yourDate: streak.yourDate,
                friendDate: streak.friendDate,
                openFrom: streak.openFrom,
                friendNewest: streak.friendNewest,
                youPosted: hasPosted(user, streak.yourDate),
                friendPosted: hasPosted(friend, streak.friendDate),
                isAtRisk: streak.row.status == .active && streak.row.atRiskFrom.map { now > $0 } ?? false
            )
        }
    }

    /// The ledgers' word on streaks whose newest date lies after today's: somebody posted and then travelled west (SD-3).
    private func postedDates(_ seen: [SeenStreak], by user: UserID) async throws -> Set<PostedDate> {
        let doubtful = seen.filter { streak in
            let (yours, theirs) = (streak.row.newestDate(of: user), streak.row.newestDate(of: streak.row.friend(of: user)))
            return yours.map { $0 > streak.yourDate } ?? false || theirs.map { $0 > streak.friendDate } ?? false
        }
        guard let earliest = doubtful.map({ min($0.yourDate, $0.friendDate) }).min() else { return [] }
        return try await streaks.contributions(to: doubtful.map(\.row.id), since: earliest)
    }

    /// The item of a list.
    static func item(_ view: StreakView) -> StreakItem {
        let row = view.row
        return StreakItem(
            id: row.id.description,
            friend: view.friend,
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
}
