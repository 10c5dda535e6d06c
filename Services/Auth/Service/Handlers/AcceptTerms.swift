internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Kernel

extension AuthService {
    /// AU-9. Accepting the same version again keeps the time of the first; an older one is refused.
    func acceptTerms(_ request: AcceptTermsRequest, context: CallContext) async throws -> AcceptTermsReply {
        let user = try context.requireUser()
        return try await mutations.run(context, request) { [self] work in
            let account = try await change(user, work) { account in
                let accepted = account.termsVersion.flatMap { TermsVersion($0) }
                let version = try TermsVersion.accepting(request.version, accepted: accepted, inForce: termsInForce)
                guard version != accepted else { return }
                account.termsVersion = version.description
                account.termsAcceptedAt = work.now
            }
            return AcceptTermsReply(
                termsVersion: account.termsVersion ?? request.version,
                termsAcceptedAt: account.termsAcceptedAt
            )
        }
    }
}
