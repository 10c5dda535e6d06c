internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// Confirms an address by the token of a mail (AU-13): once. A new address becomes the account's, and the old one is informed; links that were
/// sent to the old one no longer work. The token of a registration that waits for it makes the account.
struct VerifyEmail: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: LifecycleRepository
    let writer: AccountWriter
    let tokens: EmailTokenRepository
    let mails: AccountMails
    let registrations: PrivateRegistrations
    let mutations: Mutations

    func handle(_ request: VerifyEmailRequest, _ context: CallContext) async throws -> Once<VerifyEmailReply> {
        let hash = mails.tokens.hash(request.token)
        guard let user = try await tokens.find(hash)?.account else {
            guard let waiting = try await registrations.repository.find(hash) else { throw EmailToken.invalid }
            return try await registrations.complete(waiting, hash, request, context)
        }
        do {
            return try await mutations.once(context, request) { work in
                // The account before what belongs to it.
                guard let account = try await accounts.lock(user, work.sql),
                    let stored = try await EmailTokenRepository.lock(hash, work.sql)
                else { throw EmailToken.invalid }
                if let refusal = stored.token.refusal(for: [.verification, .emailChange], now: work.now) { throw refusal }
                try await lifecycle.requireNotDeleted(user, work.sql)
                try await EmailTokenRepository.markUsed(stored.id, now: work.now, work.sql)
                return try await confirm(stored.token, of: account, work)
            }
        } catch let error as DatabaseError where error.isUniqueViolation("account_email_key") {
            throw ServiceError.emailTaken
        }
    }

    private func confirm(_ token: EmailToken, of account: Account, _ work: UnitOfWork) async throws -> VerifyEmailReply {
        guard token.purpose == .emailChange else {
            guard AccountRepository.key(ofEmail: token.address) == AccountRepository.key(ofEmail: account.email) else {
                throw EmailToken.superseded
            }
            try await writer.verifyEmail(of: account, work)
            return VerifyEmailReply()
        }
        try await writer.change(email: token.address, of: account.id, work)
        try await EmailTokenRepository.supersede(EmailToken.Purpose.allCases, of: account.id, now: work.now, work.sql)
        try await mails.inform(account, .emailChangeNotice, newAddress: EmailToken.masked(token.address), work)
        return VerifyEmailReply(emailChanged: true)
    }
}
