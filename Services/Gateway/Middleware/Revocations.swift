internal import Kernel
private import Synchronization
internal import Tokens

/// Sessions that ended before their access tokens expire (AU-3). Kept as long as such a token could live.
final class Revocations: Sendable {
    /// No access token lives longer.
    static let horizon = RevocationStream.lifetime

    private struct State {
        var sessions: [SessionID: Instant] = [:]
        var nextPruning = Instant.epoch
        var isComplete = false
    }

    private let state = Mutex(State())

    /// Whether everything is known that was revoked before this gateway started; until then no token can be judged.
    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// Everything up to now is known.
    func complete() { state.withLock { $0.isComplete = true } }

    /// Refuses these sessions from now on. They are named one by one: `iat` has whole seconds, so «all until now» would also refuse a
    /// session that begins within the same second.
    func add(_ sessions: [SessionID], revokedAt: Instant) {
        state.withLock { state in
            for session in sessions { state.sessions[session] = revokedAt }
            guard revokedAt >= state.nextPruning else { return }
            state.nextPruning = revokedAt + .minutes(1)
            state.sessions = state.sessions.filter { $0.value > revokedAt - Self.horizon }
        }
    }

    func contains(_ token: AccessToken) -> Bool {
        state.withLock { $0.sessions[token.sessionID] != nil }
    }
}
