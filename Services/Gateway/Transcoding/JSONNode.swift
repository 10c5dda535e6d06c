/// A JSON document as a value, members in the order they were added: for what is not on the hot path.
enum JSONNode: Hashable, Sendable {
    case string(String)
    case integer(Int64)
    /// A finite number.
    case number(Double)
    case bool(Bool)
    case null
    case array([JSONNode])
    case object([Member])

    struct Member: Hashable, Sendable {
        var name: String
        var value: JSONNode
    }

    /// The member of this name; nil when there is none, or this is no object. Setting nil changes nothing.
    subscript(name: String) -> JSONNode? {
        get {
            guard case .object(let members) = self else { return nil }
            return members.first { $0.name == name }?.value
        }
        set {
            guard case .object(var members) = self, let newValue else { return }
            if let index = members.firstIndex(where: { $0.name == name }) {
                members[index].value = newValue
            } else {
                members.append(Member(name: name, value: newValue))
            }
            self = .object(members)
        }
    }

    /// The names of an object's members.
    var names: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.name)
    }

    static func object(_ members: [(String, JSONNode)]) -> JSONNode {
        .object(members.map { Member(name: $0.0, value: $0.1) })
    }

    static func strings(_ texts: [String]) -> JSONNode { .array(texts.map { .string($0) }) }

    /// A reference to a component: `schemas/Error`.
    static func reference(_ component: String) -> JSONNode { ["$ref": .string("#/components/" + component)] }

    /// Writes it as JSON.
    func write(to out: inout JSONText) {
        switch self {
        case .string(let text): out.string(text)
        case .integer(let number): out.raw(String(number))
        case .number(let number): out.raw(Int64(exactly: number).map { String($0) } ?? "\(number)")
        case .bool(let flag): out.raw(flag ? "true" : "false")
        case .null: out.raw("null")
        case .array(let elements): out.array(elements) { $1.write(to: &$0) }
        case .object(let members):
            out.object { out in
                for member in members { out.member(member.name) { member.value.write(to: &$0) } }
            }
        }
    }
}

extension JSONNode: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(arrayLiteral elements: JSONNode...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSONNode)...) { self = .object(elements) }
}
