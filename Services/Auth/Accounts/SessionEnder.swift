internal import AuthAPI
package import Database
package import Kernel
package import Outbox

/// Ends sessions, so that gateways refuse their access tokens (AU-3). After the commit `RevocationPublisher` reports them: a handler waits
/// for that, and what others end leaves within a second. Services that keep something of a session consume `SessionsEnded`.
package struct SessionEnder: Sendable {
    /// Sessions named by one event.
    private static let mostInEvent = 1_000

    let sessions: SessionRepository

    /// - Parameter database: the one that holds the sessions.
    package init(database: Database) { sessions = SessionRepository(database: database) }

    /// Ends every session of an account.
    ///
    /// - Parameter kept: one that goes on; nil for none.
    /// - Returns: how many ended.
    @discardableResult
    package func endAll(of account: UserID, except kept: SessionID? = nil, _ work: UnitOfWork) async throws -> Int {
        let ended = try await sessions.revokeAll(of: account, except: kept, now: work.now, work.sql)
        // Bounded, whatever an account has gathered.
        for start in stride(from: 0, to: ended.count, by: Self.mostInEvent) {
            let some = Array(ended[start..<min(start + Self.mostInEvent, ended.count)])
            try await work.emit(SessionsEnded(userID: account, sessionIDs: some, endedAt: work.now))
        }
        return ended.count
    }

    /// Ends one session of an account.
    ///
    /// - Returns: whether it had not ended before.
    @discardableResult
    func end(_ session: SessionID, of account: UserID, _ work: UnitOfWork) async throws -> Bool {
        guard try await sessions.revoke(session, of: account, now: work.now, work.sql) else { return false }
        try await work.emit(SessionsEnded(userID: account, sessionIDs: [session], endedAt: work.now))
        return true
    }
}
