internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel

/// The profile with the statistics that streaks and billing have emitted: no call to another service.
struct GetMe: QueryHandler {
    let accounts: AccountRepository
    let clock: any Clock

    func handle(_: GetMeRequest, _ context: CallContext) async throws -> Me {
        guard let me = try await accounts.me(try context.requireUser(), now: clock.now()) else {
            throw ServiceError.sessionRevoked
        }
        return me
    }
}
