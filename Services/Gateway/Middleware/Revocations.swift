internal import Kernel
private import Synchronization
internal import Tokens

/// Sessions that ended before their access tokens expire (AU-3). Kept as long as such a token could live, by this machine's clock alone: what
/// another machine calls now does not drop a session.
final class Revocations: Sendable {
    /// No access token lives longer.
    static let horizon = Duration.microseconds(RevocationStream.lifetime.microseconds)

    private struct State {
        /// When each was received last.
        var sessions: [SessionID: ContinuousClock.Instant] = [:]
        var nextPruning: ContinuousClock.Instant?
        var isComplete = false
    }

    private let state = Mutex(State())

    /// Whether everything is known that was revoked before this gateway started; until then no token can be judged.
    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// Everything up to now is known.
    func complete() { state.withLock { $0.isComplete = true } }

    /// Refuses these sessions from now on. They are named one by one: `iat` has whole seconds, so «all until now» would also refuse a
    /// session that begins within the same second.
    func add(_ sessions: [SessionID], now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            for session in sessions { state.sessions[session] = now }
            guard now >= state.nextPruning ?? now else { return }
            state.nextPruning = now + .seconds(60)
            state.sessions = state.sessions.filter { now - $0.value < Self.horizon }
        }
    }

    func contains(_ token: AccessToken) -> Bool {
        state.withLock { $0.sessions[token.sessionID] != nil }
    }
}
