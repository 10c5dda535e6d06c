import Foundation

/// A method with its types: what ``StreakSnap/call(_:_:options:)`` calls, and ``OfflineQueue`` stores.
public struct Endpoint<Request: Encodable & Sendable, Reply: Sendable>: Sendable {
    /// Where it is.
    public let route: Route
    let read: @Sendable (TransportReply) throws -> Reply
}

extension Endpoint where Reply: Decodable {
    /// A method that answers with JSON.
    public init(_ route: Route) {
        self.route = route
        read = { try ReplyReader.read($0, route.form) }
    }
}

extension Endpoint where Reply == FileReply {
    /// A method that answers with a file.
    public init(_ route: Route) {
        self.route = route
        read = { FileReply($0) }
    }
}

/// A method that answers with server-sent events.
public struct StreamEndpoint: Sendable {
    /// Where it is.
    public let route: Route

    /// A method that answers with server-sent events.
    public init(_ route: Route) { self.route = route }
}

/// Makes values of JSON replies.
enum ReplyReader {
    static func read<Reply: Decodable>(_ reply: TransportReply, _ form: Route.Form) throws -> Reply {
        do {
            switch form {
            case .bare, .whole: return try JSONDecoder().decode(Reply.self, from: reply.body)
            case .envelope: return try JSONDecoder().decode(Envelope<Reply>.self, from: reply.body).reply
            }
        } catch {
            throw StreakSnapError(
                kind: .badReply,
                message: "The server's reply cannot be read: \(error)",
                status: reply.status,
                requestID: reply.headers["x-request-id"]
            )
        }
    }

    private struct Envelope<Reply: Decodable>: Decodable {
        var reply: Reply

        init(from decoder: any Decoder) throws {
            let json = try JSONObject(decoder)
            reply = try json.value("data")
            guard var lifted = reply as? any LiftedReply else { return }
            try lifted.lift(json)
            if let whole = lifted as? Reply { reply = whole }
        }
    }
}
