internal import AuthAPI
package import Database
package import Kernel
package import Outbox

/// Ends sessions and emits which, so that gateways refuse their access tokens (AU-3).
package struct SessionEnder: Sendable {
    let sessions: SessionRepository

    /// - Parameter database: the one that holds the sessions.
    package init(database: Database) { sessions = SessionRepository(database: database) }

    /// Ends every session of an account.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func endAll(of account: UserID, _ work: UnitOfWork) async throws -> Int {
        let ended = try await sessions.revokeAll(of: account, now: work.now, work.sql)
        for start in stride(from: 0, to: ended.count, by: 500) {
            let some = Array(ended[start..<min(start + 500, ended.count)])
            try await work.emit(SessionsRevoked(userID: account, sessionIDs: some, revokedAt: work.now))
        }
        return ended.count
    }

    /// Ends one session of an account.
    ///
    /// - Returns: whether it had not ended before.
    @discardableResult
    func end(_ session: SessionID, of account: UserID, _ work: UnitOfWork) async throws -> Bool {
        guard try await sessions.revoke(session, of: account, now: work.now, work.sql) else { return false }
        try await work.emit(SessionsRevoked(userID: account, sessionIDs: [session], revokedAt: work.now))
        return true
    }
}
