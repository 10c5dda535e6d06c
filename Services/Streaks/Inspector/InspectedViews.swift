internal import Bus
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

extension InspectedStreak {
    init(_ row: StreakRow, _ people: [UserID: Profile]) {
        self.init(
            streakID: row.id,
            type: row.kind.typeName,
            status: StreakStatus(rawValue: row.status.stored),
            currentCount: row.count,
            longestCount: row.longest,
            members: row.members.map { InspectedMember($0, people[$0]) },
            startedAt: row.startedAt,
            lastCompletedDate: row.lastCompletedDate,
            openDate: row.openDate,
            deadlineAt: row.deadlineAt,
            brokenAt: row.brokenAt,
            brokenBy: row.brokenBy,
            endedAt: row.endedAt,
            settledAt: row.settledAt,
            nextDue: row.nextDue
        )
    }
}

extension InspectedMember {
    init(_ user: UserID, _ profile: Profile?) {
        self.init(userID: user, username: profile?.username ?? "", timeZone: profile?.zone.name ?? "")
    }
}

extension InspectedDay {
    /// - Parameters:
    ///   - contributions: of the date, in any order.
    ///   - effects: about the date.
    init(
        _ date: CalendarDate,
        _ reason: DayReason,
        _ contributions: [StreakLedger.Contribution],
        _ effects: [StreakEffect],
        _ words: InspectorWords
    ) {
        self.init(
            date: date,
            verdict: words.verdict(reason),
            reason: words.sentence(reason),
            contributions: contributions.sorted { ($0.receivedAt, $0.user) < ($1.receivedAt, $1.user) }.map {
                InspectedContribution(userID: $0.user, receivedAt: $0.receivedAt, recordedAt: $0.recordedAt)
            },
            events: effects.map { InspectedEvent(key: $0.key, text: words.sentence($0)) }
        )
    }
}
