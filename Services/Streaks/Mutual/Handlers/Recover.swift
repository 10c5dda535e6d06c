internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// Spends a recovery token on a streak (RC-2, RC-3, RC-4). With an idempotency key the operation belongs to the key: a repeat is answered with
/// what became of it.
struct Recover: MutationHandler {
    let views: MutualViews
    let recoveries: Recoveries
    let mutations: Mutations
    let clock: any Clock

    func handle(_ request: RecoverRequest, _ context: CallContext) async throws -> Once<RecoverReply> {
        let user = try context.requireUser()
        let id = request.streakID
        let received = clock.now()
        while true {
            do {
                return try await mutations.once(
                    context,
                    request,
                    completedBy: { begun in
                        let operation = begun.recoveryID
                        let balance = try await recoveries.end(of: operation, context: context)
                        return try await reply(operation, balance, id, user, context)
                    },
                    { work in
                        let operation = try await recoveries.begin(id, by: user, receivedAt: received, work)
                        return RecoverReply(recoveryID: operation)
                    }
                )
            } catch let error as ServiceError where error == .recoveryInProgress {
                guard context.remaining > .zero else { throw error }
                try await endOther(of: id, context)
            }
        }
    }

    /// The partner's recovery first: what it comes to decides what there is left to recover.
    private func endOther(of streak: StreakID, _ context: CallContext) async throws {
        guard let other = try await recoveries.repository.underWay(streak) else { return }
        do { _ = try await recoveries.end(of: other.id, context: context) } catch let error as ServiceError
            where error.code != .unavailable && error.code != .internal
        {
            // It came to nothing, for reasons of its own.
        }
    }

    private func reply(_ operation: OperationID, _ balance: Int32, _ id: StreakID, _ user: UserID, _ context: CallContext)
        async throws -> RecoverReply
    {
        guard let view = try await views.streaks(.one(id), of: user, withPartners: true, context).first else {
            throw ServiceError.notFound("streak")
        }
        let name = view.partner?.displayName ?? ""
        return RecoverReply(
            streak: view.item,
            balance: balance,
            message: "Your \(view.row.count)-day streak with \(name.isEmpty ? "your friend" : name) goes on.",
            recoveryID: operation
        )
    }
}
