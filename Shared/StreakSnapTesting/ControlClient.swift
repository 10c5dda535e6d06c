import Foundation
import StreakSnapClient

/// Calls the control API of one test-environment.
struct ControlClient: Sendable {
    let address: URL
    let token: String
    let transport: any Transport

    /// Calls a route.
    ///
    /// - Parameters:
    ///   - verb: GET, POST, PUT or DELETE.
    ///   - path: begins with a slash.
    ///   - query: names and values.
    ///   - body: of the request; nil for none.
    ///   - silence: the longest time without an answer.
    /// - Returns: the reply; null when it has no body.
    /// - Throws: ``TestKitError`` for a refusal, `StreakSnapError` when test-environment cannot be reached.
    @discardableResult
    func call(
        _ verb: String,
        _ path: String,
        query: [(String, String)] = [],
        body: [String: JSONValue]? = nil,
        silence: Duration = .seconds(120)
    ) async throws -> JSONValue {
        var parts = URLComponents(url: address.appending(path: path), resolvingAgainstBaseURL: false)
        // Brackets and signs of push tokens and addresses have meanings of their own in a query.
        parts?.percentEncodedQueryItems = query.isEmpty ? nil : query.map { URLQueryItem(name: $0, value: Self.escaped($1)) }
        guard let url = parts?.url else { throw TestKitError("BAD_REPLY", "\(path) is no address") }
        var request = TransportRequest(url: url, verb: verb, headers: ["Authorization": "Bearer \(token)"], silence: silence)
        if let body {
            request.headers["Content-Type"] = "application/json"
            request.body = .data(try JSONEncoder().encode(body))
        }
        let reply = try await transport.send(request)
        guard (200..<300).contains(reply.status) else { throw Self.refusal(reply, "\(verb) \(path)") }
        if reply.body.isEmpty { return .null }
        do { return try JSONDecoder().decode(JSONValue.self, from: reply.body) } catch {
            throw TestKitError("BAD_REPLY", "\(verb) \(path) was not answered with JSON", status: reply.status)
        }
    }

    private static func refusal(_ reply: TransportReply, _ call: String) -> TestKitError {
        let error = (try? JSONDecoder().decode(JSONValue.self, from: reply.body))?["error"] ?? .null
        return TestKitError(
            error.optionalText("code") ?? "BAD_REPLY",
            error.optionalText("message") ?? "\(call) was answered with status \(reply.status)",
            field: error.optionalText("field"),
            status: reply.status
        )
    }

    private static func escaped(_ text: String) -> String {
        var plain = CharacterSet.alphanumerics
        plain.insert(charactersIn: "-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }
}
