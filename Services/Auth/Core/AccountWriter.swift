internal import AuthAPI
internal import Database
package import Kernel
package import Outbox

/// Creates and changes accounts, and emits what other services keep of them (D13).
package struct AccountWriter: Sendable {
    let accounts: AccountRepository

    /// Creates an account.
    ///
    /// - Throws: `DatabaseError` unique violation when its e-mail or username is taken.
    package func create(_ account: Account, _ work: UnitOfWork) async throws {
        try await accounts.insert(account, work.sql)
        try await emit(account, work)
    }

    /// Changes an active account under its lock. What is no different changes nothing and emits nothing.
    ///
    /// - Returns: the account as it is now.
    /// - Throws: `SESSION_REVOKED` when the account is not active any more, and whatever `body` throws.
    @discardableResult
    package func change(
        _ user: UserID,
        _ work: UnitOfWork,
        _ body: @Sendable (inout Account) throws -> Void
    ) async throws -> Account {
        guard let before = try await accounts.lock(user, work.sql), before.status == .active else {
            throw ServiceError.sessionRevoked
        }
        var account = before
        try body(&account)
        guard account != before else { return before }
        guard let after = try await accounts.update(account, now: work.now, work.sql) else { throw ServiceError.sessionRevoked }
        try await emit(after, work)
        return after
    }

    /// Stores which avatar an account has, unless a newer one is known.
    package func store(avatar key: String, version: Int64, of user: UserID, _ work: UnitOfWork) async throws {
        let account = try await accounts.store(avatar: key, version: version, of: user, now: work.now, work.sql)
        if let account { try await emit(account, work) }
    }

    /// Stores that the owner of a locked account has proved to own its address, unless that is known.
    package func verifyEmail(of account: Account, _ work: UnitOfWork) async throws {
        guard account.emailVerifiedAt == nil else { return }
        var account = account
        account.emailVerifiedAt = work.now
        if let after = try await accounts.update(account, now: work.now, work.sql) { try await emit(after, work) }
    }

    /// Gives a locked account another address, whose owner has proved to own it.
    ///
    /// - Throws: `DatabaseError` unique violation when another account has the address.
    package func change(email: String, of user: UserID, _ work: UnitOfWork) async throws {
        if let after = try await accounts.store(email: email, of: user, now: work.now, work.sql) { try await emit(after, work) }
    }

    /// Emits the state of an account that has changed.
    package func emit(_ account: Account, _ work: UnitOfWork) async throws {
        try await work.emit(ProfileChanged(userID: account.id, profile: account.profileState))
    }
}
