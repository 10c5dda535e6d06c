internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// A streak's ledger date by date for an administrator, who is noted for the audit log of each member.
struct InspectStreak: QueryHandler {
    let store: StreakStore
    let profiles: ProfileReplica
    let work: UnitOfWorkFactory
    let clock: any Clock

    func handle(_ request: InspectStreakRequest, _ context: CallContext) async throws -> InspectStreakReply {
        let admin = try context.requireAdmin()
        let page = try Page<CalendarDate>(request, context)
        guard let stored = try await store.load([request.streakID], isWhole: true).first else {
            throw ServiceError.notFound("streak")
        }
        let (row, ledger) = (stored.row, stored.ledger)
        let people = Set(row.members).union(ledger.participants.map(\.user))
        let known = try await profiles.profiles(people, context: context)
        try await work.run(context) { work in
            try await AdminReport.emit(.readStreak, of: people.sorted(), by: admin, "streak \(row.id)", context, work)
        }
        let explained = explain(ledger, store.policies.policy(for: row.kind), at: clock.now())
        let effects = explained.state.effectsByDate
        let words = InspectorWords(kind: row.kind, names: known.mapValues(\.username))
        let dates = Set(explained.reasons.keys).filter { date in page.position.map { date < $0 } ?? true }
        let (shown, meta) = page.entries(Array(dates.sorted(by: >).prefix(page.limit + 1))) { $0 }
        return InspectStreakReply(
            streak: InspectedStreak(row, known),
            countNow: Int32(clamping: explained.state.count),
            days: shown.map { date in
                InspectedDay(
                    date,
                    explained.reasons[date] ?? .nothingAtStake,
                    ledger.contributions[date] ?? [],
                    effects[date] ?? [],
                    words
                )
            },
            meta: meta
        )
    }
}
