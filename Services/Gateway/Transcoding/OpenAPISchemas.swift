internal import Kernel

/// JSON schemas of messages for the OpenAPI page, collected as routes need them.
///
/// A message has one schema as a request and one as a reply: requests may leave fields out, replies never do. Forms are chosen so that
/// client generators understand them: a message that a reply may leave out (`null`) has the type `["object", "null"]` itself and is
/// referred to plainly by a member that is not required, since `anyOf: [$ref, null]` makes some generators drop the member.
struct OpenAPISchemas {
    /// Where a schema stands.
    enum Use: Hashable {
        /// In a JSON body; `null` means absent.
        case body
        /// In the path, the query, a header or a form, where there is no `null`.
        case text
        /// In what is answered.
        case reply
        /// Lifted beside `data`, with the request's id.
        case meta
    }

    private struct Wanted: Hashable {
        var name: String
        var use: Use
    }

    private var pending: [(wanted: Wanted, set: DescriptorSet)] = []
    private var known: Set<Wanted> = []
    /// Those that are no message's, by name: envelopes of replies, events.
    private var own: [String: JSONNode] = [:]
    /// Messages that a reply may leave out.
    private let nullable: Set<String>

    /// The day around which dates in examples lie.
    private let today: CalendarDate

    /// - Parameters:
    ///   - routes: every route the page describes.
    ///   - today: the day around which dates in examples lie.
    init(_ routes: [Route], today: CalendarDate) { (nullable, self.today) = (Self.nullable(routes), today) }

    /// Makes examples of messages.
    func examples(_ set: DescriptorSet) -> OpenAPIExamples { OpenAPIExamples(set: set, today: today) }

    private static func nullable(_ routes: [Route]) -> Set<String> {
        var nullable: Set<String> = []
        var seen: Set<String> = []
        func visit(_ name: String, _ set: DescriptorSet) {
            let set = set.describing(name)
            guard seen.insert(name).inserted, let message = set.message(named: name) else { return }
            for field in message.fields where field.kind == .message {
                if field.shape == .optional, !field.rules.required { nullable.insert(field.typeName) }
                visit(field.typeName, set)
            }
        }
        for route in routes {
            visit(route.replyType, route.set)
            for kind in route.policy.stream?.kinds ?? [] { visit(kind.data, route.set) }
        }
        return nullable
    }

    // MARK: Components

    mutating func reference(_ name: String, in set: DescriptorSet, _ use: Use) -> JSONNode {
        let wanted = Wanted(name: name, use: use == .text ? .body : use)
        if known.insert(wanted).inserted { pending.append((wanted, set.describing(name))) }
        return .reference("schemas/" + Self.component(name, wanted.use))
    }

    /// A schema of the page's own as a component, an envelope or an event: generators would else name its class after the place where it stands.
    ///
    /// - Parameters:
    ///   - name: its name, `AuthRegisterSuccess`. Another one of this name, which an older version of the method has, gets a number.
    ///   - schema: the schema.
    mutating func named(_ name: String, _ schema: JSONNode) -> JSONNode {
        var free = name
        var number = 2
        while let other = own[free], other != schema {
            free = "\(name)\(number)"
            number += 1
        }
        own[free] = schema
        return .reference("schemas/" + free)
    }

    /// `streaksnap.auth.v1.Me` is `AuthMe`, and `AuthMeInput` as part of a request.
    static func component(_ name: String, _ use: Use) -> String {
        let parts = name.split(separator: ".").filter { $0 != "streaksnap" && $0 != "v1" }
        let text = parts.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        switch use {
        case .body, .text: return text.hasSuffix("Request") ? text : text + "Input"
        case .reply: return text
        case .meta: return text + "OfReply"
        }
    }

    /// `StatusPill` of `status_pill`.
    static func capitalised(_ name: String) -> String {
        name.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// All schemas that have a name or were referred to, and those they refer to.
    mutating func components() -> [(String, JSONNode)] {
        var components = own.map { ($0.key, $0.value) }
        while let (wanted, set) = pending.popLast() {
            guard let message = set.message(named: wanted.name) else { continue }
            var schema = object(message, in: set, wanted.use, without: [])
            if wanted.use == .reply, nullable.contains(wanted.name) {
                schema["type"] = ["object", "null"]
                // Else a generator that makes one class for each type of the list counts them.
                schema["title"] = .string(Self.component(wanted.name, wanted.use))
            }
            components.append((Self.component(wanted.name, wanted.use), schema))
        }
        return components.sorted { $0.0 < $1.0 }
    }

    // MARK: Objects

    /// A message's object without some of its fields.
    mutating func object(_ message: MessageDescriptor, in set: DescriptorSet, _ use: Use, without: [String]) -> JSONNode {
        let fields = message.fields.filter { !without.contains($0.name) }
        var schema: JSONNode = ["type": "object"]
        if !message.comment.isEmpty { schema["description"] = .string(message.comment) }
        var properties = fields.map { ($0.name, schemaOf($0, in: set, use)) }
        var required = fields.filter { isRequired($0, use) }.map(\.name)
        if use == .meta, !fields.contains(where: { $0.name == "request_id" }) {
            properties.append(("request_id", OpenAPIResponses.requestID))
            required.append("request_id")
        }
        schema["properties"] = .object(properties)
        if !required.isEmpty { schema["required"] = .strings(required) }
        if use == .body || use == .text { schema["additionalProperties"] = false }
        return schema
    }

    private func isRequired(_ field: FieldDescriptor, _ use: Use) -> Bool {
        switch use {
        case .body, .text: field.isRequiredInput
        case .reply, .meta: field.kind != .message || field.shape != .optional || field.rules.required
        }
    }

    // MARK: Fields

    mutating func schemaOf(_ field: FieldDescriptor, in set: DescriptorSet, _ use: Use) -> JSONNode {
        var schema: JSONNode
        switch field.shape {
        case .scalar, .optional: schema = single(field, in: set, use)
        case .repeated:
            var element = field
            element.shape = .scalar
            element.comment = ""
            element.rules.required = use == .body || use == .text ? field.isRequiredInput : false
            let least = max(field.rules.minItems ?? 0, field.rules.required ? 1 : 0)
            var items = single(element, in: set, use == .body ? .text : use)
            let isNullable = use == .body && least == 0
            // As for nullable values.
            if isNullable, items["enum"] != nil { items["title"] = .string(Self.capitalised(field.name)) }
            schema = ["type": isNullable ? .strings(["array", "null"]) : "array", "items": items]
            if least > 0 { schema["minItems"] = .integer(Int64(least)) }
            if let most = field.rules.maxItems { schema["maxItems"] = .integer(Int64(most)) }
        case .map:
            schema = ["type": "object"]
            if let value = set.message(named: field.typeName)?.fields.last {
                schema["additionalProperties"] = single(value, in: set, use == .body ? .text : use)
            }
        }
        let texts = [field.comment, use == .body || use == .text ? field.lengthText : ""].filter { !$0.isEmpty }
        if !texts.isEmpty { schema["description"] = .string(texts.joined(separator: "\n")) }
        if field.isDeprecated { schema["deprecated"] = true }
        return schema
    }

    private mutating func single(_ field: FieldDescriptor, in set: DescriptorSet, _ use: Use) -> JSONNode {
        guard field.kind != .message else { return reference(field.typeName, in: set, use == .meta ? .reply : use) }
        let isReply = use == .reply || use == .meta
        let (type, format) = field.openAPIType
        let isNullable: Bool
        switch use {
        case .text: isNullable = false
        case .body: isNullable = !field.rules.required && !field.rules.shown.required
        case .reply, .meta: isNullable = field.shape == .optional || field.kind == .float || field.kind == .double
        }
        var schema: JSONNode = ["type": isNullable ? .strings([type, "null"]) : .string(type)]
        if let format, !(isReply && field.rules.isTyped) { schema["format"] = .string(format) }
        if field.kind == .bytes { schema["contentEncoding"] = "base64" }
        addRules(field, in: set, use, isNullable, to: &schema)
        return schema
    }

    private func addRules(
        _ field: FieldDescriptor,
        in set: DescriptorSet,
        _ use: Use,
        _ isNullable: Bool,
        to schema: inout JSONNode
    ) {
        let rules = field.rules
        let isInput = use == .body || use == .text
        let shown = isInput ? rules.shown : ShownRules()
        var names = rules.shown.oneOf.isEmpty ? rules.oneOf : rules.shown.oneOf
        if field.kind == .enumeration, names.isEmpty {
            names = set.enumeration(named: field.typeName)?.values.filter { !$0.isUnspecified }.map(\.jsonName) ?? []
        }
        if !names.isEmpty {
            let values = names.map { field.openAPIType.0 == "integer" ? Int64($0).map(JSONNode.integer) ?? .null : .string($0) }
            schema["enum"] = .array(values + (isNullable ? [.null] : []))
            // As for a nullable message.
            let title = field.kind == .enumeration ? Self.component(field.typeName, .reply) : Self.capitalised(field.name)
            if isNullable { schema["title"] = .string(title) }
        }
        // The name of a time zone has no pattern.
        let hasForm = rules.format != .unspecified && rules.format != .timeZone
        if field.kind == .string, names.isEmpty, !hasForm || rules.minLength != nil {
            // What is required is not empty.
            let isFilled = isInput && (rules.required || shown.required || rules.format == .timeZone)
            let least = max(rules.minLength ?? 0, rules.minBytes ?? 0, isFilled ? 1 : 0)
            if least > 0 { schema["minLength"] = .integer(Int64(least)) }
        }
        if let most = field.mostCodePoints { schema["maxLength"] = .integer(Int64(most)) }
        if isInput, field.countsCharacters, let most = rules.maxLength { schema["x-max-characters"] = .integer(Int64(most)) }
        if let least = rules.atLeast { schema["minimum"] = .integer(least) }
        if let most = rules.atMost { schema["maximum"] = .integer(most) }
        if let pattern = shown.pattern.isEmpty ? rules.format.pattern : shown.pattern { schema["pattern"] = .string(pattern) }
        // Clients drop what is only written from what they read: of a reply nothing is.
        if rules.secret, isInput { schema["writeOnly"] = true }
    }

    // MARK: Parameters

    /// The field a dotted name stands for.
    func field(_ name: String, of message: String, in set: DescriptorSet) -> FieldDescriptor? {
        var type = message
        var found: FieldDescriptor?
        for part in name.split(separator: ".") {
            found = set.message(named: type)?.fields.first { $0.name == part }
            type = found?.typeName ?? ""
        }
        return found
    }

    /// The fields a query can set: scalars and lists of them, and those of single submessages three levels down.
    func queryFields(
        of message: String,
        in set: DescriptorSet,
        prefix: String = "",
        depth: Int = 0
    ) -> [(name: String, field: FieldDescriptor)] {
        guard depth < 3, let fields = set.message(named: message)?.fields else { return [] }
        return fields.flatMap { field -> [(name: String, field: FieldDescriptor)] in
            let name = prefix + field.name
            if field.kind != .message { return field.shape == .map ? [] : [(name, field)] }
            guard field.shape == .optional else { return [] }
            return queryFields(of: field.typeName, in: set, prefix: name + ".", depth: depth + 1)
        }
    }
}

extension FieldDescriptor {
    /// Whether `maxLength` says less than the rule: JSON Schema counts code points, the rule what a person sees as characters, each of which
    /// may have several. Texts of a form that is ASCII have the same number of both.
    var countsCharacters: Bool {
        kind == .string && rules.maxLength != nil && rules.shown.pattern.isEmpty
            && [.unspecified, .timeZone].contains(rules.format)
    }

    /// More code points than this are always refused; nil when the rules bound none.
    var mostCodePoints: Int? {
        guard countsCharacters, let most = rules.maxLength else { return (rules.maxLength ?? rules.maxBytes).map { Int($0) } }
        return min(TextLength.mostBytes(characters: Int(most)), rules.maxBytes.map { Int($0) } ?? .max)
    }

    /// What the description says of a length that the schema cannot; empty when it says all.
    var lengthText: String {
        guard countsCharacters, let most = rules.maxLength else { return "" }
        return "At most \(most) characters as a person counts them; `maxLength` bounds the code points that they are made of."
    }

    /// Whether a request must hold it.
    var isRequiredInput: Bool { rules.required || rules.shown.required || (rules.minItems ?? 0) > 0 }

    /// Whether an empty text breaks the form that the page shows of it. What is required, its service refuses.
    var refusesEmpty: Bool {
        guard kind == .string, shape == .scalar || shape == .optional, !rules.required else { return false }
        return rules.format != .unspecified
    }

    /// JSON type and format of one value.
    var openAPIType: (String, String?) {
        switch kind {
        case .double: ("number", "double")
        case .float: ("number", "float")
        case .int32, .sint32, .sfixed32: ("integer", "int32")
        case .uint32, .fixed32: ("integer", "uint32")
        case .int64, .sint64, .sfixed64: ("integer", "int64")
        case .uint64, .fixed64: ("integer", "uint64")
        case .bool: ("boolean", nil)
        case .timestamp: ("string", "date-time")
        case .bytes, .enumeration, .message: ("string", nil)
        case .string:
            switch rules.format {
            case .uuid: ("string", "uuid")
            case .email: ("string", "email")
            case .date: ("string", "date")
            case .uri: ("string", "uri")
            default: ("string", nil)
            }
        }
    }
}

extension FieldRules.Format {
    /// The regular expression of a form that OpenAPI has no name for.
    fileprivate var pattern: String? {
        switch self {
        // The calendar begins with the year 1.
        case .month: "^(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(?:0[1-9]|1[0-2])$"
        case .username: "^[a-z0-9_.]+$"
        case .version: "^[0-9]+(?:[.-][0-9]+)*$"
        default: nil
        }
    }
}
