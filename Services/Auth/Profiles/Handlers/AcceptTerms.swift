internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Stores which terms the user accepts (AU-9). Accepting the same version again keeps the time of the first; an older one is refused.
struct AcceptTerms: MutationHandler {
    let writer: AccountWriter
    /// The terms to accept now; nil when the installation names none.
    let inForce: TermsVersion?
    let mutations: Mutations

    func handle(_ request: AcceptTermsRequest, _ context: CallContext) async throws -> Once<AcceptTermsReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            let account = try await writer.change(user, work) { account in
                let accepted = account.termsVersion.flatMap { TermsVersion($0) }
                let version = try TermsVersion.accepting(request.version, accepted: accepted, inForce: inForce)
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
