public import Foundation

/// Something that has happened, while the app is open (NO-7).
public struct ServerEvent: Sendable, Hashable {
    /// What happened.
    public enum Kind: Sendable, Hashable {
        /// There is an entry more in the log.
        case notification(id: String, type: String, streakID: StreakID?, friendshipID: FriendshipID?)
        /// A streak has changed; `count` is nil where it is as before.
        case streak(id: StreakID, status: String, count: Int?)
        /// So many notifications are unread.
        case unreadCount(Int)
        /// Events may be missing before this one: read the lists again. The first event of a stream without a place is this one.
        case reset
        /// Of a newer server.
        case other(name: String)
    }

    /// Its place in the stream: ``StreakSnap/events(after:)`` goes on after it.
    public let id: String
    /// What happened.
    public let kind: Kind
    /// As it came: a JSON object.
    public let data: Data
}

extension ServerEvent {
    init(_ raw: EventParser.Raw) {
        id = raw.id
        data = Data(raw.data.utf8)
        let members = (try? JSONDecoder().decode([String: JSONValue].self, from: data)) ?? [:]
        func text(_ name: String) -> String { members[name]?.plain ?? "" }
        func number(_ name: String) -> Int? { members[name]?.plain.flatMap(Int.init) }
        switch raw.name {
        case "notification":
            kind = .notification(
                id: text("notification_id"),
                type: text("type"),
                streakID: StreakID(text: text("streak_id")),
                friendshipID: FriendshipID(text: text("friendship_id"))
            )
        case "streak": kind = .streak(id: StreakID(text("streak_id")), status: text("status"), count: number("count"))
        case "unread_count": kind = .unreadCount(number("unread_count") ?? 0)
        case "reset": kind = .reset
        default: kind = .other(name: raw.name)
        }
    }
}

/// A user's events as they happen. The stream connects again by itself, and goes on where it was; it ends when the loop over it does,
/// when its task is cancelled, or with an error that stays one: the user is signed out.
public struct ServerEvents: AsyncSequence, Sendable {
    public typealias Element = ServerEvent
    let client: StreakSnap
    let endpoint: StreamEndpoint
    let lastEventID: String

    /// Reads the stream.
    public struct Iterator: AsyncIteratorProtocol {
        let client: StreakSnap
        let endpoint: StreamEndpoint
        var lastEventID: String
        private var pieces: AsyncThrowingStream<Data, any Error>.Iterator?
        private var parser = EventParser()
        private var waiting: ArraySlice<EventParser.Raw> = []
        private var failures = 0
        private var pause: Duration?

        init(_ client: StreakSnap, _ endpoint: StreamEndpoint, _ lastEventID: String) {
            (self.client, self.endpoint, self.lastEventID) = (client, endpoint, lastEventID)
        }

        /// The next event, waited for without an end.
        public mutating func next() async throws -> ServerEvent? {
            while true {
                if let raw = waiting.popFirst() {
                    if !raw.id.isEmpty { lastEventID = raw.id }
                    return ServerEvent(raw)
                }
                try Task.checkCancellation()
                do {
                    try await read()
                } catch let error as StreakSnapError {
                    pieces = nil
                    guard error.isTransient else { throw error }
                    failures += 1
                    pause = (error.retryAfter ?? .zero) + client.streamPause(failures)
                }
            }
        }

        private mutating func read() async throws {
            if pieces == nil {
                if let pause { try await client.surroundings.sleep(pause) }
                pause = nil
                parser = EventParser()
                pieces = try await client.openStream(endpoint, lastEventID).makeAsyncIterator()
            }
            guard let piece = try await pieces?.next() else {
                try Task.checkCancellation()
                // The server ends streams now and then: a roll, or the token's end.
                pieces = nil
                pause = parser.retry ?? client.streamPause(1)
                return
            }
            failures = 0
            waiting = parser.read(piece)[...]
            if parser.isTooLong { throw StreakSnapError(kind: .badReply, message: "An event is too long.") }
        }
    }

    /// Connects at the first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(client, endpoint, lastEventID) }
}

extension StreakSnap {
    /// The signed-in user's events as they happen.
    ///
    /// - Parameter id: of the last event that the app has applied; without one the stream begins with a `reset`.
    public func events(after id: String = "") -> ServerEvents {
        ServerEvents(client: self, endpoint: Notifications.LiveEndpoints.watch, lastEventID: id)
    }

    func events(from endpoint: StreamEndpoint) -> ServerEvents {
        ServerEvents(client: self, endpoint: endpoint, lastEventID: "")
    }

    /// The server asks for 1 to 3 s; after failures longer, up to half a minute.
    func streamPause(_ failures: Int) -> Duration {
        min(.seconds(1) * (1 << min(failures, 5)), .seconds(30)) * (0.5 + surroundings.fraction() / 2)
    }

    func openStream(_ endpoint: StreamEndpoint, _ lastEventID: String) async throws -> AsyncThrowingStream<Data, any Error> {
        var hasRenewed = false
        while true {
            guard var session = try await sessions.current() else {
                throw StreakSnapError(kind: .signedOut, code: .authenticationRequired, message: "No user is signed in.")
            }
            if session.refreshToken != nil, session.expiresAt < surroundings.now().addingTimeInterval(10) {
                session = try await renewed(session)
            }
            let prepared = try PreparedRequest(endpoint.route, [String: JSONValue]())
            // The server sends a comment every few seconds: a longer silence is a connection that is gone.
            var request = try transportRequest(prepared, nil, nil, .none, .seconds(60))
            request.headers["Accept"] = "text/event-stream"
            request.headers["Authorization"] = "Bearer \(session.accessToken)"
            if !lastEventID.isEmpty { request.headers["Last-Event-ID"] = lastEventID }
            let stream = try await transport.open(request)
            if stream.status == 200 { return stream.pieces }
            var body = Data()
            for try await piece in stream.pieces where body.count < 1 << 20 { body += piece }
            let error = ErrorReader.error(TransportReply(status: stream.status, headers: stream.headers, body: body))
            guard error.isAboutToken, session.refreshToken != nil, !hasRenewed else { throw error }
            hasRenewed = true
            _ = try await renewed(session)
        }
    }
}
