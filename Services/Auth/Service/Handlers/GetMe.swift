internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// The profile with statistics that streaks and billing told beforehand: no call to anybody.
    func getMe(_: GetMeRequest, context: CallContext) async throws -> Me {
        guard let me = try await accounts.me(try context.requireUser(), now: clock.now()) else { throw Self.accountGone }
        return me
    }

    static let accountGone = ServiceError(
        .unauthenticated,
        "INVALID_TOKEN",
        "The account of this token does not exist any more."
    )
}
