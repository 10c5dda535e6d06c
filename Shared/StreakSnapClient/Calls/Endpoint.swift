import Foundation

/// A method with its types: what ``StreakSnap/call(_:_:options:)`` calls, and ``OfflineQueue`` stores.
public struct Endpoint<Request: Encodable & Sendable, Reply: Sendable>: Sendable {
    /// Where it is.
    public let route: Route
    /// Makes a `Reply`. Its type is not said: what is generic in it would be compiled once more for each method.
    private let read: @Sendable (TransportReply) throws -> any Sendable

    func value(of reply: TransportReply) throws -> Reply {
        let value = try read(reply)
        guard let value = value as? Reply else {
            throw StreakSnapError(kind: .badReply, message: "The server's reply is a \(type(of: value)).", status: reply.status)
        }
        return value
    }
}

extension Endpoint where Reply: Decodable {
    /// A method that answers with JSON.
    public init(_ route: Route) {
        self.route = route
        read = { try ReplyReader.read(Reply.self, $0, route.form) }
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
    static func read(_ type: any (Decodable & Sendable).Type, _ reply: TransportReply, _ form: Route.Form) throws -> any Sendable
    {
        do {
            let decoder = JSONDecoder()
            switch form {
            case .bare, .whole: return try decoder.decode(type, from: reply.body)
            case .envelope:
                if let key = Envelope.type { decoder.userInfo[key] = type }
                return try decoder.decode(Envelope.self, from: reply.body).reply
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

    /// Its decoder says of which type `data` is.
    private struct Envelope: Decodable {
        static let type = CodingUserInfoKey(rawValue: "data")
        var reply: any Sendable

        init(from decoder: any Decoder) throws {
            let json = try JSONObject(decoder)
            guard let key = Self.type, let type = decoder.userInfo[key] as? any (Decodable & Sendable).Type else {
                throw DecodingError.valueNotFound(Self.self, .init(codingPath: [], debugDescription: "the type of `data`"))
            }
            reply = try json.value("data", as: type)
            guard var lifted = reply as? any LiftedReply else { return }
            try lifted.lift(json)
            reply = lifted
        }
    }
}
