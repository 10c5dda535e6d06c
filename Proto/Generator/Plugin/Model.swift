/// One proto file, as far as the generator cares.
struct ProtoFile {
    var name: String
    var package: String
    var dependencies: [String]
    var messages: [ProtoMessage]
    var enums: [ProtoEnum]
    var services: [ProtoService]

    /// Every message of the file, also nested ones, without map entries.
    var allMessages: [ProtoMessage] { messages.flatMap(\.withNested) }
}

struct ProtoMessage {
    /// Names from the outermost message to this one.
    var path: [String]
    var package: String
    var comment: String
    var fields: [ProtoField]
    var oneofs: [ProtoOneof]
    var nested: [ProtoMessage]
    var enums: [ProtoEnum]
    var isMapEntry: Bool
    /// Field that names the aggregate, when the message is an event.
    var aggregate: String?
    /// How big its pages are, when the message is the request of a list.
    var page: PageRules?

    var fullName: String { ([package] + path).joined(separator: ".") }
    var name: String { path.last ?? "" }
    var withNested: [ProtoMessage] { isMapEntry ? [] : [self] + nested.flatMap(\.withNested) }
    var hasSecret: Bool { fields.contains { $0.rules.isSecret } }

    /// The place of a field in the order of the numbers: what codecs know it by.
    func index(of field: ProtoField) -> Int { fields.count { $0.number < field.number } }
}

struct ProtoOneof {
    var name: String
    var comment: String
}

struct ProtoField {
    enum Kind {
        case number(swift: String)
        case bool, string, bytes, timestamp
        /// A text that is an id or a date; `swift` is its type.
        case typed(swift: String, TypedText)
        case enumeration(String)
        case message(String)
    }

    var name: String
    var number: Int
    var kind: Kind
    var isRepeated: Bool
    /// Declared `optional`: unset and default differ.
    var isOptional: Bool
    /// Index of the oneof it belongs to; never the synthetic one of an `optional` field.
    var oneof: Int?
    var comment: String
    var rules: FieldRules

    /// Whether a value of it is always there: an id or date that is required.
    var isAlwaysSet: Bool {
        guard case .typed = kind else { return false }
        return rules.isRequired && !isRepeated
    }

    /// The message type's full name; nil for anything but a message.
    var messageType: String? {
        if case .message(let name) = kind { return name }
        return nil
    }
}

/// What a text is in Swift.
enum TypedText: String {
    case id, date
}

struct ProtoEnum {
    struct Value {
        var name: String
        var number: Int32
        var comment: String
    }

    var path: [String]
    var package: String
    var comment: String
    var values: [Value]

    var fullName: String { ([package] + path).joined(separator: ".") }
    var name: String { path.last ?? "" }
}

struct ProtoService {
    struct Method {
        var name: String
        var input: String
        var output: String
        var comment: String
        var policy: MethodPolicy
    }

    var name: String
    var comment: String
    var methods: [Method]
}

/// All files of one request, with look-up by full name.
struct Schema {
    let files: [ProtoFile]
    private let messages: [String: ProtoMessage]
    private let enums: [String: ProtoEnum]

    init(files: [ProtoFile]) {
        self.files = files
        var messages: [String: ProtoMessage] = [:]
        var enums: [String: ProtoEnum] = [:]
        func add(_ message: ProtoMessage) {
            messages[message.fullName] = message
            for inner in message.enums { enums[inner.fullName] = inner }
            message.nested.forEach(add)
        }
        for file in files {
            file.messages.forEach(add)
            for outer in file.enums { enums[outer.fullName] = outer }
        }
        self.messages = messages
        self.enums = enums
    }

    func message(_ name: String) throws -> ProtoMessage {
        guard let message = messages[name] else { throw GeneratorError("there is no message \(name)") }
        return message
    }

    func enumeration(_ name: String) throws -> ProtoEnum {
        guard let found = enums[name] else { throw GeneratorError("there is no enum \(name)") }
        return found
    }

    /// The entry message of a map field; nil for any other field.
    func mapEntry(_ field: ProtoField) -> ProtoMessage? {
        guard field.isRepeated, let type = field.messageType, let entry = messages[type], entry.isMapEntry else { return nil }
        return entry
    }

    /// Whether a value of `field` lies inside a value of the same type without an array or dictionary between: then it is boxed.
    func needsBox(_ field: ProtoField, in owner: ProtoMessage) -> Bool {
        guard !field.isRepeated, let start = field.messageType else { return false }
        var seen: Set<String> = []
        var open = [start]
        while let name = open.popLast() {
            if name == owner.fullName { return true }
            guard seen.insert(name).inserted, let message = messages[name] else { continue }
            open += message.fields.filter { !$0.isRepeated }.compactMap(\.messageType)
        }
        return false
    }

    /// Whether a message has a value with all fields unset: not with an id or date that is required.
    func canBeEmpty(_ name: String) throws -> Bool { try !message(name).fields.contains(where: \.isAlwaysSet) }

    /// Messages that have rules, or contain messages that do: only these are walked by validation.
    func messagesWithRules() -> Set<String> {
        var found = Set(messages.values.filter { $0.fields.contains { !$0.rules.isEmpty } }.map(\.fullName))
        while true {
            let more = messages.values.filter { message in
                !found.contains(message.fullName)
                    && message.fields.contains { $0.messageType.map(found.contains) ?? false }
            }
            if more.isEmpty { return found }
            found.formUnion(more.map(\.fullName))
        }
    }
}
