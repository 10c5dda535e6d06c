internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Kernel
internal import NotificationsAPI
internal import Outbox
internal import ServiceRuntime

/// Changes whether an account may be used, with what follows from it (AU-7, SO-9).
struct AccountLifecycle: Sendable {
    let repository: LifecycleRepository
    let writer: AccountWriter
    let ender: SessionEnder
    let mails: AccountMails

    /// Deletes an account, once: unusable, signed out everywhere, e-mail and username free for others.
    ///
    /// - Returns: when it is removed for good.
    /// - Throws: `NOT_FOUND` when there is no such account.
    @discardableResult
    func delete(_ user: UserID, _ work: UnitOfWork) async throws -> Instant {
        guard var life = try await repository.lock(user, work.sql) else { throw ServiceError.notFound("account") }
        let isFirst = life.deletedAt == nil
        life.delete(at: work.now)
        guard let purgeAt = life.purgeAt else { throw ServiceError.internal }
        if isFirst {
            try await Mutations.deleteReplies(to: user, work.sql)
            let account = try await change(user, to: life, signOut: true, work)
            try await mails.inform(account, .deletionScheduled, at: purgeAt, work)
            try await work.emit(AccountDeleted(userID: user, deletedAt: work.now, purgeAt: purgeAt))
        }
        return purgeAt
    }

    /// Stores the life of a locked account, and emits its new state.
    ///
    /// - Parameter username: another one, for a restoration whose name is taken; nil keeps it.
    /// - Returns: the account as it is now.
    @discardableResult
    func change(
        _ user: UserID,
        to life: AccountLife,
        username: String? = nil,
        signOut: Bool,
        _ work: UnitOfWork
    ) async throws -> Account {
        let account = try await repository.store(life, of: user, username: username, now: work.now, work.sql)
        if signOut { try await ender.endAll(of: user, work) }
        try await writer.emit(account, work)
        return account
    }
}
