internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// The profile with statistics that streaks and billing told beforehand: no call to anybody.
    func getMe(_: GetMeRequest, context: CallContext) async throws -> Me {
        guard let me = try await accounts.me(try context.requireUser(), now: clock.now()) else { throw Self.accountGone }
        return me
    }

    /// As the gateways say it once they have heard that the sessions of the account have ended: for a moment it is found out here.
    static let accountGone = ServiceError(.unauthenticated, "SESSION_REVOKED", "This session has ended.")
}
