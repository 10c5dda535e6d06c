internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// An administrator ends a suspension before its time.
struct LiftSuspension: MutationHandler {
    let lifecycle: AccountLifecycle
    let mutations: Mutations

    func handle(_ request: LiftSuspensionRequest, _ context: CallContext) async throws -> Once<AccountStanding> {
        let admin = try context.requireAdmin()
        let user = request.userID
        return try await mutations.once(context, request) { work in
            guard var life = try await lifecycle.repository.lock(user, work.sql) else { throw ServiceError.notFound("account") }
            try life.lift()
            try await AdminLog.note(.liftSuspension, of: user, by: admin, request.reason, context, work)
            try await lifecycle.change(user, to: life, signOut: false, work)
            return AccountStanding(life, of: user)
        }
    }
}
