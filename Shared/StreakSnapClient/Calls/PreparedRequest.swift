import Foundation

/// A request whose fields have found their places: path, query, headers, body or form. It can be stored and sent later.
struct PreparedRequest: Codable, Hashable, Sendable {
    enum Content: Codable, Hashable, Sendable {
        case none
        case json(Data)
        case form(part: String, fields: [FormField])
        case raw(contentType: String, Data)
    }

    var name: String
    var verb: String
    /// Path and query, percent-encoded.
    var target: String
    var headers: [String: String]
    var content: Content

    /// Not generic: it would be compiled once more for each of the requests.
    init(_ route: Route, _ request: any Encodable, raw: (data: Data, contentType: String)? = nil) throws {
        let coder = JSONEncoder()
        // Repeats must be the same to the byte (PF-4).
        coder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard case .object(var members) = try JSONDecoder().decode(JSONValue.self, from: try coder.encode(request)) else {
            throw StreakSnapError(kind: .badReply, message: "A request must be an object.")
        }
        var path = ""
        var rest = route.path[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let variable = String(rest[rest.index(after: open)..<close])
            path += rest[..<open]
            guard let value = Self.take(variable, from: &members), !value.isEmpty else {
                throw StreakSnapError(
                    kind: .refused,
                    code: .validationError,
                    message: "A value that the path needs is missing.",
                    details: [StreakSnapError.Detail(field: variable, message: "is required")]
                )
            }
            path += Self.encoded(value)
            rest = rest[close...].dropFirst()
        }
        path += rest
        headers = [:]
        for (name, field) in route.headers {
            if let value = Self.take(field, from: &members), !value.isEmpty { headers[name] = value }
        }
        var query = JSONValue.object(members)
        if let part = route.part {
            content = .form(part: part, fields: query.pairs())
            query = .null
        } else if let raw {
            content = .raw(contentType: raw.contentType, raw.data)
        } else {
            switch route.body {
            case .none: content = .none
            case .all:
                content = .json(try coder.encode(query))
                query = .null
            case .field(let name):
                let body = members.removeValue(forKey: name) ?? .object([:])
                content = .json(try coder.encode(body))
                query = .object(members)
            }
        }
        let pairs = query.pairs().map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
        (name, verb) = (route.name, route.verb)
        target = path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    /// Removes a member, also one of a member (`a.b`).
    private static func take(_ name: String, from members: inout [String: JSONValue]) -> String? {
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return members.removeValue(forKey: name)?.plain }
        guard case .object(var inner) = members[parts[0]] else { return nil }
        let value = take(parts[1], from: &inner)
        members[parts[0]] = .object(inner)
        return value
    }

    /// Percent-encoded, but for what RFC 3986 calls unreserved.
    static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 48...57, 65...90, 97...122, 45, 46, 95, 126: result.unicodeScalars.append(Unicode.Scalar(byte))
            default: result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }
}
