internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Passwords
internal import ServiceRuntime

/// Creates an account with e-mail and password, and signs in (AU-1). The hash is made before the transaction, so that a quarter of a second
/// of CPU holds no connection.
struct Register: MutationHandler {
    let writer: AccountWriter
    let naming: AccountNaming
    let passwords: PasswordHasher
    let issuer: SessionIssuer
    let mails: AccountMails
    let mutations: Mutations

    func handle(_ request: RegisterRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        try await mutations.alone(context, request) { try await register(request, context) }
    }

    private func register(_ request: RegisterRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        let chosenName = try request.displayName.map { try DisplayName.checked($0) }
        try ProfileRules.requireUnreserved(request.username)
        let zone = try ProfileRules.zone(name: request.timeZone, offsetMinutes: request.timezoneOffset) ?? .utc
        let locale = try ProfileRules.locale(request.locale) ?? ""
        let email = EmailAddress.trimmed(request.email)
        let hash = try await passwords.hash(request.password, for: context.hashRequester(.newPassword))
        return try await naming.run(request.username, after: email) { username in
            try await mutations.once(context, request) { work in
                let account = Account(
                    id: work.ids.make(),
                    email: email,
                    passwordHash: hash,
                    username: username,
                    displayName: chosenName ?? DisplayName.fallback(email: email, username: username),
                    zone: zone,
                    locale: locale,
                    now: work.now
                )
                try await writer.create(account, work)
                try await mails.welcome(account, work)
                return try await issuer.signIn(account.id, proof: .none, work)
            }
        }
    }
}
