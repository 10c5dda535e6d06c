internal import AuthCore
internal import AuthDomain
internal import Kernel
internal import Outbox

/// Finds or creates the account of an Apple user (AU-5, AU-13).
struct AppleAccounts: Sendable {
    let appleUsers: AppleRepository
    let accounts: AccountRepository
    let writer: AccountWriter
    let mails: AccountMails
    let ender: SessionEnder

    /// What becomes of the password of an account that is linked.
    enum Password: Sendable {
        /// It ends: who has set it may not be the owner of the address.
        case removed
        /// The caller knows it: the hash that it was compared with; nil when there was none to compare with.
        case confirmed(String?)
    }

    /// The account that the Apple user had before, the one it may be linked to, or `new`.
    ///
    /// - Parameter password: of the account that is linked; without meaning for the others.
    /// - Throws: `EMAIL_TAKEN` when another account has the e-mail and may not be linked; `INVALID_APPLE_TOKEN` for a token that has signed
    ///   a user in before: one that was stolen after it was used is worth nothing; `WRONG_PASSWORD` when the confirmed password has been changed.
    func account(of identity: AppleVerifier.Identity, new: Account, password: Password, _ work: UnitOfWork) async throws
        -> UserID
    {
        let token = identity.token
        let expiry = token.expiresAt + AppleToken.clockTolerance
        guard try await appleUsers.use(token: identity.hash, until: expiry, now: work.now, work.sql) else {
            throw AppleVerifier.invalid("used")
        }
        // Accounts are locked before what belongs to them, here as everywhere.
        if let account = try await appleUsers.account(of: token.subject, work.sql) {
            _ = try await accounts.lockShared(account, work.sql)
        }
        var known = try await appleUsers.lock(token.subject, work.sql)
        let holder = known != nil || token.email == nil ? nil : try await accounts.lock(email: new.email, work.sql)
        // The account may be the one that the same user's first sign-in has made while this one waited.
        if holder != nil { known = try await appleUsers.lock(token.subject, work.sql) }
        var state: AppleSignIn.Holder?
        if let holder {
            state = AppleSignIn.Holder(
                isEmailVerified: holder.emailVerifiedAt != nil,
                hasAppleUser: try await appleUsers.hasIdentity(holder.id, work.sql)
            )
        }
        switch AppleSignIn.decide(isKnown: known != nil, isEmailVerified: token.isEmailVerified, holder: state) {
        case .signIn:
            guard let known else { throw ServiceError.internal }
            try await appleUsers.restore(token.subject, now: work.now, work.sql)
            return known.account
        case .link:
            guard let holder else { throw ServiceError.internal }
            try await appleUsers.insert(token.subject, account: holder.id, isLinked: true, now: work.now, work.sql)
            try await handOver(holder, password, work)
            return holder.id
        case .create:
            try await writer.create(new, work)
            try await mails.welcome(new, work)
            try await appleUsers.insert(token.subject, account: new.id, isLinked: false, now: work.now, work.sql)
            return new.id
        case .refuse: throw ServiceError.emailTaken
        }
    }

    /// A locked account belongs to who owns its address from now on: another may have registered it, and had the link in the mail followed. So
    /// sessions, links for another address, and a password that is not confirmed end.
    private func handOver(_ account: Account, _ password: Password, _ work: UnitOfWork) async throws {
        var isRemoved = false
        switch password {
        case .confirmed(let hash):
            // It has been changed meanwhile.
            guard hash == account.passwordHash else { throw ServiceError.wrongPassword(field: "password") }
        case .removed where account.passwordHash != nil:
            try await accounts.store(passwordHash: nil, of: account.id, now: work.now, work.sql)
            isRemoved = true
        case .removed: break
        }
        try await EmailTokenRepository.supersede([.passwordReset, .emailChange], of: account.id, now: work.now, work.sql)
        try await ender.endAll(of: account.id, work)
        try await mails.inform(account, isRemoved ? .appleLinkedPasswordRemoved : .appleLinked, work)
    }
}
