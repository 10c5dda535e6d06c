internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Records an activity, once for each type and date (TS-1).
struct RecordActivity: MutationHandler {
    let activities: Activities
    let profiles: ProfileReplica
    let mutations: Mutations

    func handle(_ request: RecordActivityRequest, _ context: CallContext) async throws -> Once<RecordActivityReply> {
        let user = try context.requireUser()
        guard let kind = StreakKind(typeName: request.type), let type = TypedType(kind) else {
            throw ServiceError.internal
        }
        // Before anything is waited for: neither a slow database nor a full pool moves an activity to the next date (SD-1).
        let received = mutations.work.now()
        // The zone must be known before the first date is worked out.
        _ = try await profiles.profiles([user], context: context)
        return try await mutations.once(context, request) { [activities] work in
            let recorded = try await activities.record(
                kind,
                by: user,
                receivedAt: received,
                capturedAt: request.capturedAt,
                work
            )
            let rewards = try await TypedRewards.of(recorded.change.map { [$0] } ?? [], work)
            return try await Self.reply(recorded, receivedAt: received, type, user, rewards, work)
        }
    }

    private static func reply(
        _ recorded: Activities.Recorded,
        receivedAt: Instant,
        _ type: TypedType,
        _ user: UserID,
        _ rewards: [TypedRewards],
        _ work: UnitOfWork
    ) async throws -> RecordActivityReply {
        // As it is now: with the contribution that was added.
        let ledger = recorded.change?.change.ledger ?? recorded.streak.ledger
        let folded = TypedViews.Folded(
            type: type,
            id: recorded.streak.row.id,
            ledger: ledger,
            contributions: recorded.streak.row.contributionCount + (recorded.change?.contribution == nil ? 0 : 1),
            state: recorded.state,
            zones: ledger.participants.first?.zones ?? ZoneHistory(.utc),
            now: recorded.state.asOf
        )
        let boosts = TypedStreak.Boosts(
            isPremium: try await EntitlementReplica().isPremium(user, now: work.now, work.sql),
            isDoubled: try await DoubleDays.isDoubled(user, on: folded.today, work.sql)
        )
        return RecordActivityReply(
            streak: TypedStreak(folded, boosts),
            date: recorded.date,
            alreadyRecorded: recorded.change == nil,
            coinsEarned: Int32(rewards.reduce(0) { $0 + $1.coins }),
            milestones: rewards.compactMap(\.milestone).map { TypedMilestone($0, count: recorded.state.count) },
            capturedAtIgnored: recorded.isCaptureIgnored,
            serverTime: receivedAt
        )
    }
}
