internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksDomain

/// Uses a good that the caller holds (TS-3).
struct UsePowerUp: MutationHandler {
    let uses: PowerUpUses
    let profiles: ProfileReplica
    let mutations: Mutations

    func handle(_ request: UsePowerUpRequest, _ context: CallContext) async throws -> Once<UsePowerUpReply> {
        let user = try context.requireUser()
        guard let good = StreakGood(rawValue: request.good) else { throw ServiceError.validation(field: "good", "is unknown") }
        let kind = try PowerUp.kind(of: good, type: request.type)
        // Before anything is waited for.
        let received = mutations.work.now()
        // The zone must be known before a date is worked out.
        _ = try await profiles.profiles([user], context: context)
        return try await mutations.once(context, request) { [uses] work in
            let id: OperationID = work.ids.make()
            let used = try await uses.use(
                PowerUpUses.Use(id: id, user: user, good: good, kind: kind, date: request.date, receivedAt: received),
                work
            )
            return UsePowerUpReply(
                powerUp: UsedPowerUp(used.powerUp),
                left: used.left,
                currentStreak: used.count.map { Int32($0) }
            )
        }
    }
}
