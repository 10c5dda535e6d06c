import Gzip
import Synchronization

/// Stands for Expo's push service: takes pushes as documented at https://docs.expo.dev/push-notifications/sending-notifications/, and shows
/// them to the test.
final class ExpoStandIn: Sendable {
    /// How it answers.
    struct Behaviour: Hashable, Sendable {
        /// 200, or what every request is refused with.
        var status: Int64 = 200
        /// Errors of tickets, by push token.
        var tickets: [String: String] = [:]
        /// Errors of receipts, by push token.
        var receipts: [String: String] = [:]
    }

    private struct State {
        var behaviour = Behaviour()
        var pushes: [JSON] = []
        /// Push tokens by ticket.
        var tokens: [String: String] = [:]
    }

    /// Most bytes of a request's content: 100 pushes of 4 KiB.
    private static let mostBytes = 4 << 20
    private let state = Mutex(State())

    var behaviour: Behaviour { state.withLock { $0.behaviour } }

    func behave(_ behaviour: Behaviour) { state.withLock { $0.behaviour = behaviour } }

    /// What it has taken, oldest first. - Parameter token: only pushes to it.
    func pushes(to token: String?) -> [JSON] {
        state.withLock { $0.pushes }.filter { token == nil || $0["to"].string == token }
    }

    func clear() { state.withLock { $0.pushes = [] } }

    /// The answer to a request of the notifications service.
    ///
    /// - Parameter path: `send` or `getReceipts`.
    func answer(_ path: String, _ body: [UInt8], isCompressed: Bool) -> (status: Int, body: JSON) {
        guard let content = JSON(bytes: isCompressed ? Self.decompressed(body) : body) else {
            return Self.refusal(400, "VALIDATION_ERROR", "The body is no JSON.")
        }
        return state.withLock { state in
            guard state.behaviour.status == 200 else {
                return Self.refusal(Int(state.behaviour.status), "TEST", "The test wants this answer.")
            }
            switch path {
            case "send": return (200, .object(["data": .list(content.elements.map { Self.take($0, &state) })]))
            case "getReceipts":
                let tickets = content["ids"].elements.compactMap(\.string).filter { state.tokens[$0] != nil }
                let receipts = tickets.map { ticket in
                    (ticket, Self.outcome(state.behaviour.receipts[state.tokens[ticket] ?? ""], ticket: nil))
                }
                return (200, .object(["data": .object(Dictionary(uniqueKeysWithValues: receipts))]))
            default: return Self.refusal(404, "NOT_FOUND", "There is no /\(path).")
            }
        }
    }

    private static func take(_ push: JSON, _ state: inout State) -> JSON {
        let token = push["to"].string ?? ""
        if let error = state.behaviour.tickets[token] { return outcome(error, ticket: nil) }
        state.pushes.append(push)
        let ticket = "ticket-\(state.tokens.count + 1)"
        state.tokens[ticket] = token
        return outcome(nil, ticket: ticket)
    }

    private static func outcome(_ error: String?, ticket: String?) -> JSON {
        if let error {
            return .object(["status": .text("error"), "message": .text("refused"), "details": .texts(["error": error])])
        }
        var members: [String: JSON] = ["status": .text("ok")]
        if let ticket { members["id"] = .text(ticket) }
        return .object(members)
    }

    private static func refusal(_ status: Int, _ code: String, _ message: String) -> (status: Int, body: JSON) {
        (status, .object(["errors": .list([.texts(["code": code, "message": message])])]))
    }

    /// Empty, which is no JSON, for what is not gzip.
    private static func decompressed(_ bytes: [UInt8]) -> [UInt8] {
        // A copy, because the compiler crashes when a closure consumes.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        do {
            var gunzip = try Gunzip(limit: mostBytes)
            try gunzip.consume(UnsafeRawBufferPointer(copy))
            try gunzip.finish()
            return gunzip.content
        } catch { return [] }
    }
}
