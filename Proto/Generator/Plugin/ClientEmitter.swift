/// Writes the generated part of the client library (D19): value types, endpoints, one function a method, and the codes of errors.
struct ClientEmitter {
    let client: ClientSchema

    /// Names in scope of the generated code that a message must not hide.
    private static let taken: Set<String> = [
        "Bool", "CalendarDate", "CallOptions", "Data", "Date", "Double", "Endpoint", "Endpoints", "ErrorCode", "FileReply",
        "Float",
        "Indirect", "Int", "Int64", "JSONObject", "JSONWriter", "Pages", "Protocol", "Route", "Self", "String", "Type", "URL",
    ]

    init(schema: Schema, files: [ProtoFile]) throws {
        client = try ClientSchema(schema: schema, files: files)
    }

    func outputs() throws -> [(name: String, content: String)] {
        var outputs: [(name: String, content: String)] = []
        var namespaces: [String] = []
        for file in client.files {
            let namespace = try client.namespace(file.package)
            let stem = SwiftName.type(String(file.name.split(separator: "/").last?.split(separator: ".").first ?? ""))
            do {
                if let types = try self.types(file, namespace) {
                    outputs.append(("\(namespace)\(stem)Types.swift", types))
                    if !namespaces.contains(namespace) { namespaces.append(namespace) }
                }
                for service in file.services {
                    let methods = client.methods.filter { $0.package == file.package && $0.service.name == service.name }
                    guard !methods.isEmpty else { continue }
                    if !namespaces.contains(namespace) { namespaces.append(namespace) }
                    outputs.append(("\(namespace)\(service.name)Endpoints.swift", try endpoints(methods, file, namespace)))
                    outputs.append(("\(namespace)\(service.name)Methods.swift", try self.methods(methods, file, namespace)))
                }
            } catch {
                throw GeneratorError("\(file.name): \(error)")
            }
        }
        outputs.append(("Namespaces.swift", try overview(namespaces)))
        outputs.append(("Identifiers.swift", identifiers()))
        outputs.append(("ErrorCodes.swift", errorCodes()))
        return outputs
    }

    // MARK: types

    private func types(_ file: ProtoFile, _ namespace: String) throws -> String? {
        let messages = file.allMessages.filter { client.types.contains($0.fullName) }
        let enums = (file.enums + file.allMessages.flatMap(\.enums)).filter { client.types.contains($0.fullName) }
        guard !messages.isEmpty || !enums.isEmpty else { return nil }
        // An import that is not used in public is an error in Swift.
        let usesFoundation = try messages.contains { message in
            try client.properties(message).contains { property in
                ["Data", "Date"].contains {
                    property.type == $0 || property.type == "[\($0)]" || property.type == "[String: \($0)]"
                }
            }
        }
        var source = SourceText(origin: file.name, imports: usesFoundation ? ["public import Foundation"] : [])
        source.line()
        try source.block("extension \(namespace)") { source in
            for (index, item) in enums.enumerated() {
                if index > 0 { source.line() }
                enumeration(item, &source)
            }
            for (index, message) in messages.enumerated() {
                if index > 0 || !enums.isEmpty { source.line() }
                try self.message(message, &source)
            }
        }
        for message in messages { try extras(message, &source) }
        return source.text
    }

    private func enumeration(_ item: ProtoEnum, _ source: inout SourceText) {
        let type = item.path.joined()
        var seen: Set<Int32> = []
        source.doc(item.comment.isEmpty ? " One of the values below, or one that a newer server knows." : item.comment)
        source.block("public struct \(type): OpenEnum") { source in
            for value in item.values where seen.insert(value.number).inserted {
                let name = SwiftName.enumValue(value.name, of: item.name)
                source.doc(value.comment.isEmpty ? " `\(name)`" : value.comment)
                source.line("public static let \(SwiftName.member(name)) = \(type)(rawValue: \"\(name)\")")
            }
            source.line()
            source.line("/// As it is written in JSON.")
            source.line("public let rawValue: String")
            source.line()
            source.line("/// Any value, also one that this client does not know.")
            source.line("public init(rawValue: String) { self.rawValue = rawValue }")
        }
    }

    private func message(_ message: ProtoMessage, _ source: inout SourceText) throws {
        let type = message.path.joined()
        guard !Self.taken.contains(type) else { throw GeneratorError("a message cannot be called \(type) in the client") }
        let properties = try client.properties(message)
        source.doc(message.comment.isEmpty ? " `\(message.fullName)`." : message.comment)
        source.block("public struct \(type): Codable, Hashable, Sendable") { source in
            for property in properties {
                source.doc(property.field.comment.isEmpty ? " `\(property.field.name)`." : property.field.comment)
                source.line("public var \(property.name): \(property.declaredType)")
            }
            if !properties.isEmpty { source.line() }
            source.line("/// The given fields set, the others unset.")
            source.block("public init(\(properties.map(\.parameter).joined(separator: ", ")))") { source in
                for property in properties { source.line("self.\(property.name) = \(property.name)") }
            }
            source.line()
            source.line("/// Reads JSON. Members that are not known are ignored, those that are missing are unset.")
            source.block("public init(from decoder: any Decoder) throws") { source in
                if !properties.isEmpty { source.line("let json = try JSONObject(decoder)") }
                for property in properties { source.line("self.\(property.name) = " + reading(property, message)) }
            }
            source.line()
            source.line("/// Writes JSON without what is unset.")
            source.block("public func encode(to encoder: any Encoder) throws") { source in
                source.line("\(properties.isEmpty ? "_ =" : "var json =") JSONWriter(encoder)")
                for property in properties { source.line("try json.put(\"\(property.field.name)\", \(property.name))") }
            }
        }
    }

    private func reading(_ property: ClientProperty, _ message: ProtoMessage) -> String {
        let key = "\"\(property.field.name)\""
        return switch property.form {
        case .plain(let zero): "try json.value(\(key), or: \(zero))"
        case .optional, .boxed: "try json.optional(\(key))"
        case .text: "try json.text(\(key))"
        case .required: "try json.value(\(key))"
        }
    }

    /// What lies beside `data`, tokens, and secrets.
    private func extras(_ message: ProtoMessage, _ source: inout SourceText) throws {
        let type = try client.swiftType(message.fullName)
        let properties = try client.properties(message)
        let lifted = properties.filter { client.isLifted($0.field, of: message) }
        if !lifted.isEmpty {
            source.line()
            source.block("extension \(type): LiftedReply") { source in
                source.block("mutating func lift(_ json: JSONObject) throws") { source in
                    for property in lifted { source.line("self.\(property.name) = " + reading(property, message)) }
                }
            }
        }
        let names = Set(properties.map(\.field.name))
        if client.replies.contains(message.fullName), names.isSuperset(of: ["access_token", "expires_in"]) {
            source.line()
            source.block("extension \(type): TokenReply") { source in
                let refresh = names.contains("refresh_token") ? "refreshToken" : "nil"
                source.line(
                    "var tokens: (access: String, refresh: String?, expiresIn: Int) { (accessToken, \(refresh), expiresIn) }"
                )
            }
        }
        guard properties.contains(where: \.field.rules.isSecret) else { return }
        source.line()
        source.block("extension \(type): CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable") { source in
            source.line("/// Without its secrets.")
            let shown = properties.filter { !$0.field.rules.isSecret }
            let children = shown.map { "\(SourceText.literal($0.field.name)): \($0.name) as Any" }.joined(separator: ", ")
            source.line("public var customMirror: Mirror { Mirror(self, children: [\(children.isEmpty ? ":" : children)]) }")
            source.line("/// Without its secrets.")
            let texts = shown.map { "\($0.field.name): \\(String(describing: \($0.name)))" }.joined(separator: ", ")
            source.line("public var description: String { \"\(message.path.joined())(\(texts))\" }")
            source.line("/// Without its secrets.")
            source.line("public var debugDescription: String { description }")
        }
    }

    // MARK: lists

    private func overview(_ namespaces: [String]) throws -> String {
        var source = SourceText(origin: "Proto/", imports: [])
        for namespace in namespaces.sorted() {
            source.line()
            source.line("/// Types and endpoints of `\(namespace)`.")
            source.line("public enum \(namespace) {}")
        }
        for isAdmin in [false, true] {
            var seen: [String: String] = [:]
            source.line()
            try source.block("extension \(isAdmin ? "AdminMethods" : "StreakSnap")") { source in
                for method in client.methods where method.isAdmin == isAdmin {
                    let namespace = try client.namespace(method.package)
                    let name = SwiftName.method(method.service.name)
                    let owner = "\(namespace).\(method.service.name)"
                    if let other = seen.updateValue(owner, forKey: name) {
                        guard other == owner else {
                            throw GeneratorError("\(other) and \(owner) have the same name in the client")
                        }
                        continue
                    }
                    source.doc(method.service.comment)
                    let type = Self.methodsType(method, namespace)
                    source.line("public var \(name): \(type) { \(type)(\(isAdmin ? "client" : "self")) }")
                }
            }
        }
        return source.text
    }

    /// `Media.SnapsMethods`, `Social.SafetyAdminMethods`.
    static func methodsType(_ method: ClientMethod, _ namespace: String) -> String {
        "\(namespace).\(method.service.name)\(method.isAdmin ? "Admin" : "")Methods"
    }

    private func identifiers() -> String {
        let fields = client.files.flatMap(\.allMessages).filter { client.types.contains($0.fullName) }.flatMap(client.fields)
        let names = Set(fields.map(\.rules.id)).filter { !$0.isEmpty }
        var source = SourceText(origin: "the rules of fields in Proto/", imports: [])
        for name in names.sorted() {
            source.line()
            source.line("/// The id of one \(name.first.map { String($0).lowercased() } ?? "")\(name.dropFirst()).")
            source.block("public struct \(name)ID: Identifier") { source in
                source.line("/// The text on the wire: a UUID.")
                source.line("public let rawValue: String")
                source.line()
                source.line("/// The id with this text.")
                source.line("public init(rawValue: String) { self.rawValue = rawValue }")
            }
        }
        return source.text
    }

    /// What the gateway and every service's runtime may answer.
    private static let commonCodes = [
        "ADMIN_ONLY", "AUTHENTICATION_REQUIRED", "BODY_TOO_LARGE", "DEADLINE_EXCEEDED", "FILE_TOO_LARGE", "GUEST_NOT_ALLOWED",
        "IDEMPOTENCY_KEY_REUSED", "INTERNAL", "INVALID_TOKEN", "LINK_EXPIRED", "MALFORMED_BODY", "MALFORMED_UPLOAD",
        "METHOD_NOT_ALLOWED", "NOT_FOUND", "PAYLOAD_TOO_LARGE", "RANGE_NOT_SATISFIABLE", "RATE_LIMITED", "REQUEST_IN_PROGRESS",
        "REQUEST_TIMEOUT", "SECOND_FACTOR_ENROLMENT_REQUIRED", "SESSION_REVOKED", "STORAGE_DENIED", "STORAGE_FULL",
        "STORAGE_UNAVAILABLE", "TOKEN_EXPIRED", "UNAUTHENTICATED", "UNAUTHORIZED", "UNAVAILABLE", "UNSUPPORTED_MEDIA_TYPE",
        "VALIDATION_ERROR",
    ]

    private func errorCodes() -> String {
        let codes = Set(Self.commonCodes + client.methods.flatMap(\.http.reasons))
        var source = SourceText(origin: "the reasons of methods in Proto/", imports: [])
        source.line()
        source.block("extension ErrorCode") { source in
            for code in codes.sorted() {
                source.line("/// `\(code)`")
                source.line("public static let \(SwiftName.member(code.lowercased())) = ErrorCode(rawValue: \"\(code)\")")
            }
        }
        return source.text
    }
}
