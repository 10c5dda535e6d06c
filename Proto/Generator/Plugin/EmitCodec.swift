// Conversions between a Swift value and its C twin.
extension ModuleEmitter {
    func codecs(_ file: ProtoFile) throws -> String {
        let types = file.allMessages.flatMap { message in message.fields.flatMap { schema.mapEntry($0)?.fields ?? [$0] } }
            .compactMap { field in
                switch field.kind {
                case .message(let name), .enumeration(let name): name
                default: nil
                }
            }
        var source = SourceText(origin: file.name, imports: imports(c: true, for: types, access: "internal", wire: true))
        for message in file.allMessages {
            source.line()
            try codec(message, &source)
        }
        return source.text
    }

    private func codec(_ message: ProtoMessage, _ source: inout SourceText) throws {
        let twin = CName.type(message.fullName)
        let initialise = CName.function(message.fullName) + "__init"
        try source.block("extension \(message.path.joined(separator: ".")): Wire.CMessage") { source in
            source.line("public static var fullName: String { \"\(message.fullName)\" }")
            source.line()
            source.block("public static let layout: Wire.MessageLayout =") { source in
                source.line("var twin = \(twin)()")
                source.line("\(initialise)(&twin)")
                source.line("return Wire.MessageLayout(descriptor: twin.base.descriptor)")
            }
            source.closeCall()
            source.line()
            let head = "public init(stored: UnsafeRawPointer, _ unreadable: Wire.UnreadableText) throws(Wire.WireError)"
            try source.block(head) { source in
                if message.fields.isEmpty { return }
                source.line("let c = stored.assumingMemoryBound(to: \(twin).self)")
                for field in message.fields where field.oneof == nil { try decode(field, message, &source) }
                for (index, oneof) in message.oneofs.enumerated() {
                    try decodeOneof(oneof, message.fields.filter { $0.oneof == index }, &source)
                }
            }
            source.line()
            try source.block("public func store(in arena: Wire.Arena) throws(Wire.WireError) -> UnsafeMutableRawPointer") {
                source in
                source.line("let c = arena.allocate(\(twin).self)")
                source.line("\(initialise)(c)")
                for field in message.fields where field.oneof == nil { try encode(field, message, &source) }
                for (index, oneof) in message.oneofs.enumerated() {
                    try encodeOneof(oneof, message.fields.filter { $0.oneof == index }, &source)
                }
                source.line("return UnsafeMutableRawPointer(c)")
            }
        }
    }

    // MARK: Decoding

    private func decode(_ field: ProtoField, _ message: ProtoMessage, _ source: inout SourceText) throws {
        let target = "self." + SwiftName.bare(field.name)
        let member = "c.pointee." + CName.member(field.name)
        let count = "c.pointee.n_" + field.name.lowercased()
        if let entry = schema.mapEntry(field) {
            try source.block("for index in 0..<\(count)") { source in
                source.line("guard let entry = \(member)[index] else { continue }")
                let key = try value(entry.fields[0], "entry.pointee.key", field.name)
                let value = try value(entry.fields[1], "entry.pointee.value", field.name)
                source.line("\(target)[\(key)] = \(value)")
            }
        } else if field.isRepeated {
            source.line("\(target) = \(try repeated(field, member, count))")
        } else if case .typed(_, let text) = field.kind {
            // Whether an optional one was sent empty or not at all makes no difference.
            let function = field.rules.isRequired ? text.rawValue : text == .id ? "optionalID" : "optionalDate"
            let call = "try Wire.Decode.\(function)(\(member), \"\(field.name)\", unreadable)"
            guard field.isOptional else { return source.line("\(target) = \(call)") }
            source.block("if c.pointee.\(CName.presence(field)).rawValue == \(field.number)") { source in
                source.line("\(target) = \(call)")
            }
        } else if field.isOptional {
            source.block("if c.pointee.\(CName.presence(field)).rawValue == \(field.number)") { source in
                source.line("\(target) = \(optionalValue(field, member))")
            }
        } else {
            switch field.kind {
            case .timestamp, .message:
                try source.block("if let stored = \(member)") { source in
                    source.line("\(target) = \(try pointed(field, "stored", field.name))")
                }
            default: source.line("\(target) = \(try value(field, member, field.name))")
            }
        }
    }

    /// `optional` fields are scalars, strings, bytes or enums: messages always have presence.
    private func optionalValue(_ field: ProtoField, _ member: String) -> String {
        (try? value(field, member, field.name)) ?? member
    }

    private func decodeOneof(_ oneof: ProtoOneof, _ fields: [ProtoField], _ source: inout SourceText) throws {
        guard !fields.isEmpty else { return }
        let target = "self." + SwiftName.bare(oneof.name)
        source.line("switch c.pointee.\(CName.oneofCase(oneof.name)).rawValue {")
        for field in fields {
            let value = try value(field, "c.pointee." + CName.member(field.name), field.name)
            source.line("case \(field.number): \(target) = .\(SwiftName.bare(field.name))(\(value))")
        }
        source.line("default: break")
        source.line("}")
    }

    /// A Swift expression for the value at a C expression.
    private func value(_ field: ProtoField, _ member: String, _ name: String) throws -> String {
        switch field.kind {
        case .number: return member
        case .bool: return "\(member) != 0"
        case .string: return "try Wire.Decode.string(\(member), \"\(name)\")"
        case .bytes: return "Wire.Decode.bytes(\(member).data, count: \(member).len)"
        case .enumeration(let type):
            return "\(try swiftType(type))(rawValue: Int32(truncatingIfNeeded: \(member).rawValue))"
        case .typed(_, let text): return "try Wire.Decode.\(text.rawValue)(\(member), \"\(name)\", unreadable)"
        case .message(let type) where try !schema.canBeEmpty(type):
            return try pointed(field, "try Wire.Decode.present(\(member))", name)
        case .timestamp, .message:
            let empty = try zero(field)
            return
                "try \(member).map { (stored) throws(Wire.WireError) in \(try pointed(field, "stored", name)) } ?? \(empty)"
        }
    }

    /// A Swift expression for the timestamp or message that a C pointer points to.
    private func pointed(_ field: ProtoField, _ pointer: String, _ name: String) throws -> String {
        if case .message(let type) = field.kind {
            return "try \(try swiftType(type))(stored: UnsafeRawPointer(\(pointer)), unreadable)"
        }
        return "try Wire.Decode.instant(seconds: \(pointer).pointee.seconds, nanos: \(pointer).pointee.nanos, \"\(name)\")"
    }

    private func repeated(_ field: ProtoField, _ member: String, _ count: String) throws -> String {
        switch field.kind {
        case .number: return "Wire.Decode.numbers(\(member), count: \(count))"
        case .string: return "try Wire.Decode.strings(\(member), count: \(count), \"\(field.name)\")"
        case .message(let type):
            return "try Wire.Decode.messages(\(member), count: \(count), as: \(try swiftType(type)).self, unreadable)"
        case .typed(_, let text):
            return "try Wire.Decode.\(text.rawValue)s(\(member), count: \(count), \"\(field.name)\", unreadable)"
        case .timestamp:
            let transform = "(item) throws(Wire.WireError) in \(try value(field, "item", field.name))"
            return "try Wire.Decode.list(\(member), count: \(count)) { \(transform) }"
        default: return "try Wire.Decode.list(\(member), count: \(count)) { \(try value(field, "$0", field.name)) }"
        }
    }

    // MARK: Encoding

    private func encode(_ field: ProtoField, _ message: ProtoMessage, _ source: inout SourceText) throws {
        let property = "self." + SwiftName.bare(field.name)
        let member = "c.pointee." + CName.member(field.name)
        if field.isRepeated {
            try source.block("if !\(property).isEmpty") { source in
                source.line("c.pointee.n_\(field.name.lowercased()) = \(property).count")
                if let entry = schema.mapEntry(field) {
                    try encodeMap(field, entry, property, member, &source)
                } else {
                    source.line("\(member) = \(try storedList(field, property))")
                }
            }
            return
        }
        switch field.kind {
        case .typed where field.isAlwaysSet: source.line("\(member) = \(try stored(field, property, field.name))")
        case _ where field.isOptional:
            try source.block("if let value = \(property)") { source in
                source.line("c.pointee.\(CName.presence(field)) = .init(rawValue: \(field.number))")
                source.line("\(member) = \(try stored(field, "value", field.name))")
            }
        case .timestamp, .message, .typed:
            try source.block("if let value = \(property)") { source in
                source.line("\(member) = \(try stored(field, "value", field.name))")
            }
        case .string, .bytes:
            source.line("if !\(property).isEmpty { \(member) = \(try stored(field, property, field.name)) }")
        default: source.line("\(member) = \(try stored(field, property, field.name))")
        }
    }

    private func encodeOneof(_ oneof: ProtoOneof, _ fields: [ProtoField], _ source: inout SourceText) throws {
        guard !fields.isEmpty else { return }
        source.line("switch self.\(SwiftName.bare(oneof.name)) {")
        for field in fields {
            source.line("case .\(SwiftName.bare(field.name))(let value)?:")
            source.line("    c.pointee.\(CName.oneofCase(oneof.name)) = .init(rawValue: \(field.number))")
            source.line("    c.pointee.\(CName.member(field.name)) = \(try stored(field, "value", field.name))")
        }
        source.line("case nil: break")
        source.line("}")
    }

    private func encodeMap(
        _ field: ProtoField,
        _ entry: ProtoMessage,
        _ property: String,
        _ member: String,
        _ source: inout SourceText
    ) throws {
        let twin = CName.type(entry.fullName)
        // Sorted, so that equal messages have equal bytes (idempotency compares hashes of requests, D12).
        var order = "$0.key < $1.key"
        if case .bool = entry.fields[0].kind { order = "!$0.key && $1.key" }
        source.line("\(member) = try arena.list(\(property).sorted { \(order) }) {")
        source.line("    (pair) throws(Wire.WireError) -> UnsafeMutablePointer<\(twin)>? in")
        source.line("    let entry = arena.allocate(\(twin).self)")
        source.line("    \(CName.function(entry.fullName))__init(entry)")
        source.line("    entry.pointee.key = \(try stored(entry.fields[0], "pair.key", field.name))")
        source.line("    entry.pointee.value = \(try stored(entry.fields[1], "pair.value", field.name))")
        source.line("    return entry")
        source.line("}")
    }

    /// A C expression for a Swift value.
    private func stored(_ field: ProtoField, _ value: String, _ name: String) throws -> String {
        switch field.kind {
        case .number: return value
        case .bool: return "\(value) ? 1 : 0"
        case .string: return "try arena.string(\(value), \"\(name)\")"
        case .typed(_, let text): return "arena.\(text.rawValue)(\(value))"
        case .bytes: return "ProtobufCBinaryData(len: \(value).count, data: arena.bytes(\(value)))"
        case .enumeration(let type):
            return "\(CName.type(type))(rawValue: .init(truncatingIfNeeded: \(value).rawValue))"
        case .timestamp: return "try storeTimestamp(\(value), arena, \"\(name)\")"
        case .message(let type):
            return "try \(value).store(in: arena).assumingMemoryBound(to: \(CName.type(type)).self)"
        }
    }

    private func storedList(_ field: ProtoField, _ property: String) throws -> String {
        switch field.kind {
        case .number: return "arena.numbers(\(property))"
        case .string: return "try arena.strings(\(property), \"\(field.name)\")"
        case .typed(_, let text): return "arena.\(text.rawValue)s(\(property))"
        case .message(let type): return "try arena.messages(\(property), as: \(CName.type(type)).self)"
        case .timestamp:
            let transform = "(item) throws(Wire.WireError) in \(try stored(field, "item", field.name))"
            return "try arena.list(\(property)) { \(transform) }"
        default: return "try arena.list(\(property)) { \(try stored(field, "$0", field.name)) }"
        }
    }
}
