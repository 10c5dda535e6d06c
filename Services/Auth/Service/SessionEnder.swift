internal import AuthAPI
internal import Kernel
internal import Outbox

/// Ends every session of an account and tells the gateways which (AU-3).
struct SessionEnder: Sendable {
    let sessions: SessionRepository

    /// - Returns: how many there were.
    @discardableResult
    func end(of account: UserID, _ work: UnitOfWork) async throws -> Int {
        let ended = try await sessions.revokeAll(of: account, now: work.now, work.sql)
        for start in stride(from: 0, to: ended.count, by: 500) {
            try await work.emit(
                SessionsRevoked(
                    userID: account.description,
                    sessionIDs: ended[start..<min(start + 500, ended.count)].map(\.description),
                    revokedAt: work.now
                )
            )
        }
        return ended.count
    }
}
