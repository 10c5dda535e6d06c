package import Database
package import Kernel
package import Outbox

/// Ends sessions, so that gateways refuse their access tokens (AU-3). After the commit `RevocationPublisher` reports them: a handler waits
/// for that, and what others end leaves within a second.
package struct SessionEnder: Sendable {
    let sessions: SessionRepository

    /// - Parameter database: the one that holds the sessions.
    package init(database: Database) { sessions = SessionRepository(database: database) }

    /// Ends every session of an account.
    ///
    /// - Parameter kept: one that goes on; nil for none.
    /// - Returns: how many ended.
    @discardableResult
    package func endAll(of account: UserID, except kept: SessionID? = nil, _ work: UnitOfWork) async throws -> Int {
        try await sessions.revokeAll(of: account, except: kept, now: work.now, work.sql)
    }

    /// Ends one session of an account.
    ///
    /// - Returns: whether it had not ended before.
    @discardableResult
    func end(_ session: SessionID, of account: UserID, _ work: UnitOfWork) async throws -> Bool {
        try await sessions.revoke(session, of: account, now: work.now, work.sql)
    }
}
