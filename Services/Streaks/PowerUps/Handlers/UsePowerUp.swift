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
        let (good, kind) = try Self.checked(request)
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

    func problems(of request: UsePowerUpRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.checked(request) }
    }

    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func checked(_ request: UsePowerUpRequest) throws -> (good: StreakGood, kind: StreakKind?) {
        guard let good = StreakGood(rawValue: request.good) else { throw ServiceError.validation(field: "good", "is unknown") }
        var check = FieldCheck()
        let kind = try check.take { try PowerUp.kind(of: good, type: request.type) }
        check.require(good != .timeMachine || request.date != nil, "date", "must name a missed date")
        try check.finish()
        guard let kind else { throw ServiceError.internal }
        return (good, kind)
    }
}
