internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Passwords
internal import ServiceRuntime

/// Creates an account with e-mail and password, and signs in (AU-1). The hash is made before the transaction, so that a quarter of a second
/// of CPU holds no connection. Where registrations are private, nothing here depends on whether the address has an account.
struct Register: MutationHandler {
    let challenges: Challenges
    let budget: RegistrationBudget
    /// Nil: the answer says whether the address is taken.
    let privately: PrivateRegistrations?
    let accounts: AccountRepository
    let writer: AccountWriter
    let naming: AccountNaming
    let passwords: PasswordHasher
    let issuer: SessionIssuer
    let mails: AccountMails
    let mutations: Mutations

    func handle(_ request: RegisterRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        try await mutations.alone(context, request) { try await register(request, context) }
    }

    func problems(of request: RegisterRequest) -> [ServiceError.Detail] { FieldCheck.problems { _ = try form(request) } }

    private func form(_ request: RegisterRequest) throws -> ProfileForm {
        try ProfileForm(
            username: request.username,
            displayName: request.displayName,
            timeZone: request.timeZone,
            timezoneOffset: request.timezoneOffset,
            locale: request.locale,
            issuer.core.names
        )
    }

    /// Who is refused because too many hashes wait has had nothing of their share.
    ///
    /// - Parameter counted: as of when the registration counts.
    private func hash(_ password: String, _ counted: Instant, _ context: CallContext) async throws -> String {
        do {
            return try await passwords.hash(password, for: context.hashRequester(.newPassword))
        } catch let refusal as ServiceError where [.unavailable, .resourceExhausted].contains(refusal.code) {
            // What refuses is said, also when the share cannot be given back.
            try? await budget.giveBack(counted, context)
            throw refusal
        }
    }

    private func register(_ request: RegisterRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        let form = try form(request)
        let email = EmailAddress.trimmed(request.email)
        // Before the limits: who solves nothing uses up no other user's share of them.
        try await challenges.require(request, context)
        let counted = try await budget.take(context)
        // Which usernames are taken is public (AU-10).
        if privately != nil, let username = request.username, try await accounts.isTaken(username: username) {
            throw ServiceError.usernameTaken
        }
        let hash = try await hash(request.password, counted, context)
        if let privately {
            return try await mutations.once(context, request) { work in
                try await privately.keep(request, form, email: email, passwordHash: hash, work)
                return SignInReply(status: .checkMail)
            }
        }
        do { return try await create(request, form, email, hash, context) } catch var refusal as ServiceError
            where refusal == .emailTaken
        {
            if let username = request.username, try await accounts.isTaken(username: username) {
                refusal.details += ServiceError.usernameTaken.details
            }
            throw refusal
        }
    }

    private func create(
        _ request: RegisterRequest,
        _ form: ProfileForm,
        _ email: String,
        _ hash: String,
        _ context: CallContext
    ) async throws -> Once<SignInReply> {
        try await naming.run(request.username, after: email) { username in
            try await mutations.once(context, request) { work in
                let account = Account(
                    id: work.ids.make(),
                    email: email,
                    passwordHash: hash,
                    username: username,
                    displayName: form.displayName ?? issuer.core.names.fallback(email: email, username: username),
                    zone: form.zone ?? .utc,
                    locale: form.locale ?? "",
                    now: work.now
                )
                try await writer.create(account, work)
                try await mails.welcome(account, work)
                try await KnownClientRepository.note(account.id, at: context.clientAddress, now: work.now, work.sql)
                return try await issuer.signIn(account.id, proof: .none, work)
            }
        }
    }
}
