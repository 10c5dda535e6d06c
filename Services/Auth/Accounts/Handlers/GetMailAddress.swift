internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel

/// Where mail to a user goes, for services that have something sent.
struct GetMailAddress: QueryHandler {
    let accounts: AccountRepository

    func handle(_ request: GetMailAddressRequest, _: CallContext) async throws -> MailRecipient {
        guard let account = try await accounts.find(request.userID) else { throw ServiceError.notFound("account") }
        return MailRecipient(address: account.email, locale: account.locale, isVerified: account.emailVerifiedAt != nil)
    }
}
