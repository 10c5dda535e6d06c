// Conversions between a Swift value and the words that libprotobuf-c reads and writes (Wire.Reader, Wire.Writer), and the checks of the
// validation options. A field is named by its place in the order of the numbers: where it lies only the descriptor says.
extension ModuleEmitter {
    func codecs(_ file: ProtoFile) throws -> String {
        let types = file.allMessages.flatMap { message in message.fields.flatMap { schema.mapEntry($0)?.fields ?? [$0] } }
            .compactMap { field in
                switch field.kind {
                case .message(let name), .enumeration(let name): name
                default: nil
                }
            }
        var source = SourceText(origin: file.name, imports: imports(for: types, access: "internal", wire: true))
        for message in file.allMessages {
            source.line()
            try codec(message, &source)
        }
        return source.text
    }

    private func codec(_ message: ProtoMessage, _ source: inout SourceText) throws {
        try source.block("extension \(message.path.joined(separator: ".")): Wire.CMessage") { source in
            source.line("public static let layout = Wire.MessageLayout(\"\(message.fullName)\", in: \(descriptorName).layouts)")
            if message.fields.isEmpty {
                source.line("public init(_: Wire.Reader) {}")
                source.line("public func write(_: Wire.Writer) {}")
                return
            }
            let fields = message.fields.filter { $0.oneof == nil }.map { ($0, message.index(of: $0)) }
            let oneofs = message.oneofs.indices.map { index in
                (message.oneofs[index], message.fields.filter { $0.oneof == index }.map { ($0, message.index(of: $0)) })
            }.filter { !$0.1.isEmpty }
            try source.block("public init(_ r: Wire.Reader)") { source in
                func assign(_ fields: [(ProtoField, Int)]) throws {
                    for (field, index) in fields {
                        source.line("self.\(SwiftName.bare(field.name)) = \(try reading(field, index))")
                    }
                }
                try assign(fields.filter { !schema.needsBox($0.0, in: message) })
                for (oneof, members) in oneofs { try decode(oneof, members, &source) }
                // A wrapped property can be set when all else is.
                try assign(fields.filter { schema.needsBox($0.0, in: message) })
            }
            source.block("public func write(_ w: Wire.Writer)") { source in
                for (field, index) in fields { source.line(writing(field, index)) }
                for (oneof, members) in oneofs { encode(oneof, members, &source) }
            }
            try validation(message, &source)
        }
    }

    // MARK: Decoding

    private func reading(_ field: ProtoField, _ index: Int) throws -> String {
        guard let entry = schema.mapEntry(field) else { return "r.\(function(field))(\(index))" }
        return "r.map(\(index)) { (\(try value(entry.fields[0], "$0", 0)), \(try value(entry.fields[1], "$0", 1))) }"
    }

    private func decode(_ oneof: ProtoOneof, _ members: [(ProtoField, Int)], _ source: inout SourceText) throws {
        let target = "self." + SwiftName.bare(oneof.name)
        source.line("switch r.member(\(members[0].1)) {")
        for (field, index) in members {
            source.line("case \(field.number): \(target) = .\(SwiftName.bare(field.name))(\(try value(field, "r", index)))")
        }
        source.line("default: \(target) = nil")
        source.line("}")
    }

    /// A Swift expression for a value that is there: of a oneof or a map.
    private func value(_ field: ProtoField, _ reader: String, _ index: Int) throws -> String {
        let call = "\(reader).\(plain(field))(\(index))"
        switch field.kind {
        case .timestamp: return call + " ?? .epoch"
        case .message(let type) where try schema.canBeEmpty(type): return call + " ?? \(try zero(field))"
        case .message: return "\(reader).present(\(index))"
        default: return call
        }
    }

    // MARK: Encoding

    private func writing(_ field: ProtoField, _ index: Int) -> String {
        let property = "self." + SwiftName.bare(field.name)
        guard let entry = schema.mapEntry(field) else { return "w.\(function(field))(\(index), \(property))" }
        let (key, value) = (plain(entry.fields[0]), plain(entry.fields[1]))
        return "w.map(\(index), \(property)) { w, key, value in w.\(key)(0, key); w.\(value)(1, value) }"
    }

    private func encode(_ oneof: ProtoOneof, _ members: [(ProtoField, Int)], _ source: inout SourceText) {
        source.line("switch self.\(SwiftName.bare(oneof.name)) {")
        for (field, index) in members {
            source.line("case .\(SwiftName.bare(field.name))(let value)?: w.\(plain(field))(\(index), value)")
        }
        source.line("case nil: break")
        source.line("}")
    }

    // MARK: The functions of reader and writer, which have the same names

    private func function(_ field: ProtoField) -> String {
        if field.isRepeated { return list(field) }
        switch field.kind {
        case .timestamp, .message: return plain(field)
        case .typed where field.isAlwaysSet: return plain(field)
        case .typed(_, .id): return "optionalID"
        case .typed(_, .date): return "optionalDate"
        default:
            let name = plain(field)
            return field.isOptional ? "optional" + name.prefix(1).uppercased() + name.dropFirst() : name
        }
    }

    private func plain(_ field: ProtoField) -> String {
        switch field.kind {
        case .number: "number"
        case .bool: "flag"
        case .string: "string"
        case .bytes: "bytes"
        case .enumeration: "enumeration"
        case .typed(_, let text): text.rawValue
        case .timestamp: "instant"
        case .message: "message"
        }
    }

    private func list(_ field: ProtoField) -> String {
        if case .bytes = field.kind { return "bytesList" }
        return plain(field) + "s"
    }
}
