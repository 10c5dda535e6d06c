internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// AU-9. Accepting the same version again keeps the time of the first.
    func acceptTerms(_ request: AcceptTermsRequest, context: CallContext) async throws -> AcceptTermsReply {
        let user = try context.requireUser()
        return try await mutations.run(context, request) { [self] work in
            let account = try await change(user, work) { account in
                guard account.termsVersion != request.version else { return }
                account.termsVersion = request.version
                account.termsAcceptedAt = work.now
            }
            return AcceptTermsReply(termsVersion: request.version, termsAcceptedAt: account.termsAcceptedAt)
        }
    }
}
