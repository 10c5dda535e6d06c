internal import AuthAPI
internal import Bus
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-9. The version goes into the replicated profile: `media` refuses photos of people who have accepted none.
    func acceptTerms(_ request: AcceptTermsRequest, context: CallContext) async throws -> AcceptTermsReply {
        let user = try context.requireUser()
        return try await mutations.run(context, request) { [accounts] work in
            guard let account = try await accounts.acceptTerms(request.version, by: user, now: work.now, work.sql) else {
                throw ServiceError(.unauthenticated, "INVALID_TOKEN", "The account of this token does not exist any more.")
            }
            try await work.emit(ProfileChanged(userID: account.id.description, profile: account.profileState))
            return AcceptTermsReply(termsVersion: request.version, termsAcceptedAt: work.now)
        }
    }
}
