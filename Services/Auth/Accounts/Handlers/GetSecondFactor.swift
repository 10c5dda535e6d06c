internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel

/// Whether the caller has a second factor, and needs one.
struct GetSecondFactor: QueryHandler {
    let accounts: AccountRepository
    let factors: SecondFactors

    func handle(_ request: GetSecondFactorRequest, _ context: CallContext) async throws -> SecondFactorState {
        let user = try context.requireUser()
        guard let account = try await accounts.find(user) else { throw ServiceError.sessionRevoked }
        let state = try await factors.repository.state(of: user, factors.repository.database)
        return SecondFactorState(
            enrolledAt: state?.enrolledAt,
            recoveryCodesLeft: state?.codesLeft ?? 0,
            required: factors.rule.rights(isAdmin: account.isAdmin, isEnrolled: false) == .enrolment
        )
    }
}
