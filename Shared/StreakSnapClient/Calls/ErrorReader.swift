import Foundation

/// Makes errors of replies that are none of a success.
enum ErrorReader {
    static func error(_ reply: TransportReply) -> StreakSnapError {
        let body = try? JSONDecoder().decode(Body.self, from: reply.body)
        let retryAfter = reply.headers["retry-after"].flatMap(Int64.init).map { Duration.seconds(min(max($0, 0), 86_400)) }
        return StreakSnapError(
            kind: .refused,
            code: body.map { ErrorCode(rawValue: $0.error.code) },
            message: body?.error.message ?? "The server answered with status \(reply.status).",
            details: body?.error.details ?? [],
            status: reply.status,
            requestID: body?.requestID ?? reply.headers["x-request-id"],
            retryAfter: retryAfter
        )
    }

    private struct Body: Decodable {
        var error: Refusal
        var requestID: String?

        init(from decoder: any Decoder) throws {
            let json = try JSONObject(decoder)
            error = try json.value("error")
            let meta: [String: JSONValue] = (try? json.value("meta", or: [:])) ?? [:]
            requestID = meta["request_id"]?.plain
        }
    }

    private struct Refusal: Decodable {
        var code: String
        var message: String
        var details: [StreakSnapError.Detail]

        init(from decoder: any Decoder) throws {
            let json = try JSONObject(decoder)
            // The same word on every route; older servers have the code only.
            code = try json.optional("reason") ?? json.value("code")
            message = try json.value("message", or: "")
            details = Self.details((try? json.optional("details")) ?? .null)
        }

        /// A list of field and message, or an object of fields with their messages (`exact`).
        private static func details(_ value: JSONValue) -> [StreakSnapError.Detail] {
            switch value {
            case .list(let entries):
                entries.map { entry in
                    guard case .object(let members) = entry else {
                        return StreakSnapError.Detail(field: "", message: entry.plain ?? "")
                    }
                    return StreakSnapError.Detail(field: members["field"]?.plain ?? "", message: members["message"]?.plain ?? "")
                }
            case .object(let members):
                members.sorted { $0.key < $1.key }.map { StreakSnapError.Detail(field: $0.key, message: $0.value.plain ?? "") }
            default: []
            }
        }
    }
}
