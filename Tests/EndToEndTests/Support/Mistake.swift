import Foundation

/// One thing that developers get wrong, and what the answer must say to them.
struct Mistake: Sendable {
    /// How well an answer helps.
    enum Grade: String, Sendable {
        /// Status, reason, the fields that are wrong and no others, and what is wanted instead.
        case mendable = "A"
        /// Status and fields are right.
        case findable = "B"
        /// Anything else.
        case useless = "F"
    }

    /// What a member of a body, or a parameter, is replaced by.
    struct Value: Sendable {
        /// `too long`.
        let name: String
        /// JSON in a body, plain text elsewhere; nil to leave it out.
        let text: String?
        /// What is named behind the field: `[0]`.
        var place = ""
        /// One of these must stand in the answer.
        let says: [String]
    }

    let operation: APIOperation
    /// `quantity: too high`.
    let name: String
    var verb: String
    var target: String
    var headers: [(String, String)] = []
    var body: [UInt8]?
    /// Of the caller, where the operation has one; a text in its place, and none for an empty text.
    var token: String?
    /// Nil for any that refuses.
    var status: Int? = 400
    var code = "VALIDATION_ERROR"
    /// What must be named, and nothing else.
    var fields: [String] = []
    /// One of these must stand in the answer.
    var says: [String] = []

    init(_ operation: APIOperation, _ name: String, _ target: String, _ change: (inout Mistake) -> Void = { _ in }) {
        (self.operation, self.name, verb, self.target) = (operation, name, operation.verb, target)
        change(&self)
    }

    /// The name without the field: `too high`; of two mistakes at once without the first, ` and too high`, unless that is a value that
    /// cannot be read: `no id beside too high`.
    var kind: String {
        let kind = name.range(of: ": ").map { name[$0.upperBound...] } ?? name[...]
        return String(kind.range(of: " and ").map { kind[$0.lowerBound...] } ?? kind)
    }

    func grade(_ reply: HTTPReply) -> Grade {
        let isSaid = says.isEmpty || says.contains { reply.text.localizedCaseInsensitiveContains($0) }
        guard let status else { return isSaid && (400..<500).contains(reply.status) ? .mendable : .useless }
        // Of a route whose bodies follow a published interface, details are an object, which needs a name for the whole.
        let named = Set(reply.fields.map { $0 == "request" ? "" : $0 })
        guard reply.status == status, named.isSuperset(of: fields) else { return .useless }
        return reply.json["error"]["reason"].string == code && named.count == Set(fields).count && isSaid ? .mendable : .findable
    }
}

extension JSON {
    /// The value as a document, its members in the order of their names.
    var written: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let value): Int(exactly: value).map { "\($0)" } ?? "\(value)"
        case .string(let text): quoted(text)
        case .array(let values): "[\(values.map(\.written).joined(separator: ","))]"
        case .object(let members):
            "{\(members.keys.sorted().map { "\(quoted($0)):\((members[$0] ?? .null).written)" }.joined(separator: ","))}"
        }
    }
}
