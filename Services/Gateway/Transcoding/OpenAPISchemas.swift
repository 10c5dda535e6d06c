/// JSON schemas of messages and enums for the OpenAPI page, collected as routes need them.
///
/// A message has one schema as a request and one as a reply: requests may leave fields out, replies never do.
struct OpenAPISchemas {
    private struct Wanted: Hashable {
        var name: String
        var isReply: Bool
    }

    private var pending: [(wanted: Wanted, set: DescriptorSet)] = []
    private var known: Set<Wanted> = []

    // MARK: References

    private mutating func reference(_ name: String, in set: DescriptorSet, isReply: Bool, _ out: inout JSONText) {
        let wanted = Wanted(name: name, isReply: isReply)
        if known.insert(wanted).inserted { pending.append((wanted, set)) }
        out.object { $0.member("$ref", string: "#/components/schemas/\(Self.component(wanted))") }
    }

    /// `streaksnap.auth.v1.Me` is `auth.v1.Me`, and `auth.v1.Me.Input` as part of a request.
    private static func component(_ wanted: Wanted) -> String {
        let name = wanted.name.hasPrefix("streaksnap.") ? String(wanted.name.dropFirst("streaksnap.".count)) : wanted.name
        return wanted.isReply ? name : "\(name).Input"
    }

    /// Writes all schemas that were referred to, and those they refer to.
    mutating func write(to out: inout JSONText) {
        out.object { out in
            out.member(
                "Error",
                raw: #"{"type":"object","required":["success","error","meta"],"properties":{"success":{"const":false},"#
                    + #""error":{"type":"object","required":["code","message","details"],"properties":{"code":{"type":"string"},"#
                    + #""message":{"type":"string"},"details":{"type":"array","items":{"type":"object","properties":{"#
                    + #""field":{"type":"string"},"message":{"type":"string"}}}}}},"#
                    + #""meta":{"type":"object","properties":{"request_id":{"type":"string"}}}}}"#
            )
            while let (wanted, set) = pending.popLast() {
                guard let message = set.message(named: wanted.name) else { continue }
                out.member(Self.component(wanted)) { object(message, in: set, isReply: wanted.isReply, without: [], &$0) }
            }
        }
    }

    // MARK: Objects

    /// The whole body of a request: its message without what the path gives.
    mutating func requestObject(_ route: Route, _ out: inout JSONText) {
        let taken = route.pattern.variables.map(\.fieldPath)
        if taken.isEmpty { return reference(route.requestType, in: route.set, isReply: false, &out) }
        guard let message = route.set.message(named: route.requestType) else { return }
        object(message, in: route.set, isReply: false, without: taken, &out)
    }

    mutating func form(_ route: Route, _ upload: MethodPolicy.Upload, _ out: inout JSONText) {
        let fields = route.set.message(named: route.requestType)?.fields.filter { $0.name != upload.field } ?? []
        out.object { out in
            out.member("type", string: "object")
            out.member("properties") { out in
                out.object { out in
                    out.member(upload.part, raw: #"{"type":"string","contentMediaType":"application/octet-stream"}"#)
                    for field in fields where field.kind != .message {
                        out.member(field.name) { schema(field, in: route.set, isReply: false, &$0) }
                    }
                }
            }
            out.member("required") { $0.array([upload.part]) { $0.string($1) } }
        }
    }

    /// The reply as the transcoder writes it, with the envelope and what is lifted.
    mutating func reply(_ route: Route, _ out: inout JSONText) {
        guard case .envelope = route.reply.form, let message = route.set.message(named: route.replyType) else {
            return reference(route.replyType, in: route.set, isReply: true, &out)
        }
        let lifted = [route.reply.metaField, route.reply.messageField].filter { $0 >= 0 }.map { message.fields[$0] }
        out.object { out in
            out.member("type", string: "object")
            out.member("properties") { out in
                out.object { out in
                    out.member("success", raw: #"{"const":true}"#)
                    out.member("data") { out in
                        if lifted.isEmpty {
                            reference(route.replyType, in: route.set, isReply: true, &out)
                        } else {
                            object(message, in: route.set, isReply: true, without: lifted.map(\.name), &out)
                        }
                    }
                    if route.reply.messageField >= 0 { out.member("message", raw: #"{"type":["string","null"]}"#) }
                    out.member("meta") { out in
                        if route.reply.metaField >= 0 {
                            let type = message.fields[route.reply.metaField].typeName
                            out.object { out in
                                out.member("allOf") { out in
                                    out.array([type]) { reference($1, in: route.set, isReply: true, &$0) }
                                }
                            }
                        } else {
                            out.raw(#"{"type":"object","properties":{"request_id":{"type":"string"}}}"#)
                        }
                    }
                }
            }
            out.member("required", raw: #"["success","data","meta"]"#)
        }
    }

    private mutating func object(
        _ message: MessageDescriptor,
        in set: DescriptorSet,
        isReply: Bool,
        without: [String],
        _ out: inout JSONText
    ) {
        let fields = message.fields.filter { !without.contains($0.name) }
        out.object { out in
            out.member("type", string: "object")
            if !message.comment.isEmpty { out.member("description", string: message.comment) }
            out.member("properties") { out in
                out.object { out in
                    for field in fields { out.member(field.name) { schema(field, in: set, isReply: isReply, &$0) } }
                }
            }
            let required = fields.filter { isReply || $0.rules.required }.map(\.name)
            if !required.isEmpty { out.member("required") { $0.array(required) { $0.string($1) } } }
            if !isReply { out.member("additionalProperties", raw: "false") }
        }
    }

    // MARK: Fields

    mutating func schema(_ field: FieldDescriptor, in set: DescriptorSet, isReply: Bool, _ out: inout JSONText) {
        switch field.shape {
        case .scalar, .optional: single(field, in: set, isReply: isReply, isNullable: field.shape == .optional, &out)
        case .repeated:
            out.object { out in
                out.member("type", string: "array")
                describe(field, &out)
                out.member("items") { out in
                    var element = field
                    element.comment = ""
                    element.isDeprecated = false
                    single(element, in: set, isReply: isReply, isNullable: false, &out)
                }
                if let least = field.rules.minItems { out.member("minItems", raw: String(least)) }
                if let most = field.rules.maxItems { out.member("maxItems", raw: String(most)) }
            }
        case .map:
            out.object { out in
                out.member("type", string: "object")
                describe(field, &out)
                if let value = set.message(named: field.typeName)?.fields.last {
                    out.member("additionalProperties") { out in
                        single(value, in: set, isReply: isReply, isNullable: false, &out)
                    }
                }
            }
        }
    }

    private mutating func single(
        _ field: FieldDescriptor,
        in set: DescriptorSet,
        isReply: Bool,
        isNullable: Bool,
        _ out: inout JSONText
    ) {
        guard field.kind != .message else {
            out.object { out in
                describe(field, &out)
                out.member("anyOf") { out in
                    out.array(isNullable ? [field.typeName, ""] : [field.typeName]) { out, type in
                        if type.isEmpty { out.raw(#"{"type":"null"}"#) } else { reference(type, in: set, isReply: isReply, &out) }
                    }
                }
            }
            return
        }
        let (type, format) = field.openAPIType
        out.object { out in
            if isNullable {
                out.member("type") { $0.array([type, "null"]) { $0.string($1) } }
            } else {
                out.member("type", string: type)
            }
            if let format { out.member("format", string: format) }
            if field.kind == .bytes { out.member("contentEncoding", string: "base64") }
            describe(field, &out)
            rules(field, in: set, isNullable: isNullable, &out)
        }
    }

    private func describe(_ field: FieldDescriptor, _ out: inout JSONText) {
        if !field.comment.isEmpty { out.member("description", string: field.comment) }
        if field.isDeprecated { out.member("deprecated", raw: "true") }
    }

    private func rules(_ field: FieldDescriptor, in set: DescriptorSet, isNullable: Bool, _ out: inout JSONText) {
        let rules = field.rules
        var names = rules.oneOf
        if field.kind == .enumeration {
            names = set.enumeration(named: field.typeName)?.values.filter { !$0.isUnspecified }.map(\.jsonName) ?? []
        }
        if !names.isEmpty {
            let texts = names.map { name in
                var text = JSONText()
                text.string(name)
                return String(decoding: text.bytes, as: UTF8.self)
            }
            out.member("enum") { $0.array(texts + (isNullable ? ["null"] : [])) { $0.raw($1) } }
        }
        if let least = rules.minLength { out.member("minLength", raw: String(least)) }
        if let most = rules.maxLength ?? rules.maxBytes { out.member("maxLength", raw: String(most)) }
        if let least = rules.atLeast { out.member("minimum", raw: String(least)) }
        if let most = rules.atMost { out.member("maximum", raw: String(most)) }
        if !rules.pattern.isEmpty { out.member("pattern", string: "^(?:\(rules.pattern))$") }
        if rules.secret { out.member("writeOnly", raw: "true") }
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
