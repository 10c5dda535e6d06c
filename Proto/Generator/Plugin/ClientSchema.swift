/// A method that the client library offers.
struct ClientMethod {
    var package: String
    var service: ProtoService
    var method: ProtoService.Method
    var http: HTTPBinding

    var isAdmin: Bool { http.auth == .admin }
    var name: String { SwiftName.method(method.name) }

    /// Fields of the request that do not travel in it as values: the uploaded file, and the body that is not JSON.
    var excludedFields: Set<String> {
        var names: Set<String> = []
        if let upload = http.upload { names.insert(upload.field) }
        if let raw = http.rawField { names.insert(raw) }
        return names
    }
}

/// What of the protos the client library shows: the methods with a route, and the messages and enums that they reach.
struct ClientSchema {
    let schema: Schema
    let files: [ProtoFile]
    let methods: [ClientMethod]
    /// Full names of messages and enums.
    private(set) var types: Set<String> = []
    /// Messages that are replies in an envelope.
    private(set) var replies: Set<String> = []
    /// Fields that are left out of a request, by its full name.
    private(set) var excluded: [String: Set<String>] = [:]

    init(schema: Schema, files: [ProtoFile]) throws {
        self.schema = schema
        self.files = files
        methods = files.flatMap { file in
            file.services.flatMap { service in
                service.methods.compactMap { method in
                    guard let http = method.policy.http, http.isPublic else { return nil }
                    return ClientMethod(package: file.package, service: service, method: method, http: http)
                }
            }
        }
        for method in methods where !method.http.isStream {
            let excludes = method.excludedFields
            if let known = excluded[method.method.input], known != excludes {
                throw GeneratorError("\(method.method.input) is the request of methods that upload different fields")
            }
            excluded[method.method.input] = excludes
        }
        for method in methods where !method.http.isStream {
            try add(method.method.input)
            guard !method.http.isFile else { continue }
            try add(method.method.output)
            if !method.http.isBare { replies.insert(method.method.output) }
        }
    }

    private mutating func add(_ message: String) throws {
        var open = [message]
        while let name = open.popLast() {
            guard types.insert(name).inserted else { continue }
            for field in fields(try schema.message(name)) {
                for inner in schema.mapEntry(field)?.fields ?? [field] {
                    switch inner.kind {
                    case .message(let type): open.append(type)
                    case .enumeration(let type): types.insert(type)
                    default: continue
                    }
                }
            }
        }
    }

    /// The fields that a message has in the client.
    func fields(_ message: ProtoMessage) -> [ProtoField] {
        let excluded = excluded[message.fullName] ?? []
        return message.fields.filter { !excluded.contains($0.name) }
    }

    /// Whether a field of a reply lies beside `data` (PF-1).
    func isLifted(_ field: ProtoField, of message: ProtoMessage) -> Bool {
        guard replies.contains(message.fullName), !field.isRepeated else { return false }
        switch field.kind {
        case .string: return field.name == "message"
        case .message: return field.name == "meta"
        default: return false
        }
    }

    /// `streaksnap.media.v1` → `Media`; later versions are namespaces of their own: `MediaV2`.
    func namespace(_ package: String) throws -> String { String(try SwiftName.module(package).dropLast("API".count)) }

    /// A message or enum as Swift code of the client writes it.
    func swiftType(_ fullName: String) throws -> String {
        if let message = try? schema.message(fullName) {
            guard !fullName.hasPrefix("google.") else { throw GeneratorError("\(fullName) is not supported") }
            return try namespace(message.package) + "." + message.path.joined()
        }
        let item = try schema.enumeration(fullName)
        return try namespace(item.package) + "." + item.path.joined()
    }
}

/// A property of a value type of the client.
struct ClientProperty {
    enum Form {
        /// Zero when it is left out.
        case plain(zero: String)
        /// nil when it is left out.
        case optional
        /// An id, a date or an enum whose empty text means unset.
        case text
        /// Must be there.
        case required
        /// A message that may contain itself.
        case boxed
    }

    var field: ProtoField
    var name: String
    /// Without `?`.
    var type: String
    var form: Form
    /// Whether a request without it is refused.
    var mustBeGiven: Bool

    var declaredType: String {
        switch form {
        case .plain, .required: type
        case .optional, .text, .boxed: type + "?"
        }
    }

    /// The default of a parameter; nil when there is none.
    var initial: String? {
        if mustBeGiven { return nil }
        return switch form {
        case .plain(let zero): zero
        case .required: nil
        case .optional, .text, .boxed: "nil"
        }
    }

    var parameter: String { "\(name): \(declaredType)" + (initial.map { " = \($0)" } ?? "") }
}

extension ClientSchema {
    func properties(_ message: ProtoMessage) throws -> [ClientProperty] {
        let properties = try fields(message).map { field -> ClientProperty in
            guard !["self", "init"].contains(field.name.lowercased()) else {
                throw GeneratorError("\(message.name): a field cannot be called \(field.name) in Swift")
            }
            let (type, form) = try typeAndForm(field, of: message)
            return ClientProperty(
                field: field,
                name: SwiftName.member(field.name),
                type: type,
                form: form,
                mustBeGiven: field.rules.isRequired || (field.rules.minItems ?? 0) > 0
            )
        }
        guard Set(properties.map(\.name)).count == properties.count else {
            throw GeneratorError("\(message.name): two fields have the same name in Swift")
        }
        return properties
    }

    private func typeAndForm(_ field: ProtoField, of message: ProtoMessage) throws -> (String, ClientProperty.Form) {
        if let entry = schema.mapEntry(field) { return ("[String: \(try valueType(entry.fields[1]))]", .plain(zero: "[:]")) }
        let type = try valueType(field)
        if field.isRepeated { return ("[\(type)]", .plain(zero: "[]")) }
        if schema.needsBox(field, in: message) { return ("Indirect<\(type)>", .boxed) }
        if field.isOptional || field.oneof != nil {
            if case .typed = field.kind { return (type, .text) }
            return (type, .optional)
        }
        switch field.kind {
        case .typed: return (type, field.isAlwaysSet ? .required : .text)
        case .timestamp, .message:
            return (type, field.rules.isRequired && !isLifted(field, of: message) ? .required : .optional)
        case .number, .bool, .string, .bytes, .enumeration: return (type, .plain(zero: try zero(field)))
        }
    }

    private func valueType(_ field: ProtoField) throws -> String {
        switch field.kind {
        case .number(let swift): ["Int32": "Int", "UInt32": "Int64", "UInt64": "Int64"][swift] ?? swift
        case .bool: "Bool"
        case .string: "String"
        case .bytes: "Data"
        case .timestamp: "Date"
        case .typed(let swift, _): String(swift.dropFirst("Kernel.".count))
        case .enumeration(let name), .message(let name): try swiftType(name)
        }
    }

    private func zero(_ field: ProtoField) throws -> String {
        switch field.kind {
        case .number: return "0"
        case .bool: return "false"
        case .string: return "\"\""
        case .bytes: return "Data()"
        case .enumeration(let name):
            let item = try schema.enumeration(name)
            guard let first = item.values.first else { throw GeneratorError("enum \(item.name) has no value") }
            return "." + SwiftName.member(SwiftName.enumValue(first.name, of: item.name))
        case .timestamp, .typed, .message: throw GeneratorError("\(field.name) has no value that means unset")
        }
    }
}
