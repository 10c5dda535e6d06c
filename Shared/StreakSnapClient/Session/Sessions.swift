import Foundation

/// The one place that reads and changes the session. Refreshes are made one at a time; callers that need one share it.
actor Sessions {
    private let store: any SessionStore
    private let changed: (@Sendable (Session?) -> Void)?
    private var known: Session?
    private var isLoaded = false
    private var flight: Task<Session, any Error>?

    init(_ store: any SessionStore, changed: (@Sendable (Session?) -> Void)?) {
        (self.store, self.changed) = (store, changed)
    }

    func current() async throws -> Session? {
        if !isLoaded {
            let loaded = try await store.load()
            // Another call may have signed in meanwhile.
            if !isLoaded { (known, isLoaded) = (loaded, true) }
        }
        return known
    }

    func set(_ session: Session?) async throws {
        (known, isLoaded) = (session, true)
        changed?(session)
        try await store.save(session)
    }

    /// A session in place of one whose access token is refused or about to end.
    ///
    /// - Parameter exchange: gets a new pair for a session.
    func renewed(_ stale: Session, by exchange: @escaping @Sendable (Session) async throws -> Session) async throws -> Session {
        if let known, known.accessToken != stale.accessToken { return known }
        if let flight { return try await flight.value }
        let flight = Task { try await self.exchange(stale, exchange) }
        self.flight = flight
        return try await flight.value
    }

    private func exchange(_ stale: Session, _ exchange: @Sendable (Session) async throws -> Session) async throws -> Session {
        defer { flight = nil }
        // An extension of the app that shares the store may have been faster.
        if let stored = try await store.load(), stored.accessToken != stale.accessToken {
            known = stored
            return stored
        }
        do {
            let fresh = try await exchange(stale)
            // Signed out, or in as another user, in the meantime: then no user has the new pair.
            guard let now = known, now.accessToken == stale.accessToken else {
                throw StreakSnapError(kind: .signedOut, message: "The session ended while it was renewed.")
            }
            try await set(fresh)
            return fresh
        } catch let error as StreakSnapError where error.kind == .signedOut {
            if known?.accessToken == stale.accessToken { try await set(nil) }
            throw error
        }
    }
}
