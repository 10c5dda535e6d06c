// Value types: structs, enums, oneofs, events.
extension ModuleEmitter {
    func messages(_ file: ProtoFile) throws -> String {
        let all = file.allMessages
        let fields = all.flatMap { message in message.fields.flatMap { schema.mapEntry($0)?.fields ?? [$0] } }
        let types = fields.compactMap { field in
            switch field.kind {
            case .message(let name), .enumeration(let name): name
            default: nil
            }
        }
        let usesKernel =
            all.contains { $0.page != nil }
            || fields.contains { field in
                switch field.kind {
                case .timestamp, .typed: true
                default: false
                }
            }
        // An import that is not used in public is an error in Swift.
        let usesWire =
            !file.enums.isEmpty
            || all.contains { message in
                !message.enums.isEmpty || message.aggregate != nil || message.page != nil || message.hasSecret
                    || message.fields.contains { $0.oneof == nil && schema.needsBox($0, in: message) }
            }
        var source = SourceText(
            origin: file.name,
            imports: imports(for: types, kernel: usesKernel, wire: usesWire)
        )
        for item in file.enums {
            source.line()
            enumeration(item, &source)
        }
        for message in file.messages {
            source.line()
            try self.message(message, &source)
        }
        for message in all {
            try event(message, &source)
            try page(message, &source)
            try secrets(message, &source)
        }
        return source.text
    }

    private func message(_ message: ProtoMessage, _ source: inout SourceText) throws {
        guard !["Type", "Protocol", "Self"].contains(message.name) else {
            throw GeneratorError("a message cannot be called \(message.name) in Swift")
        }
        source.doc(message.comment)
        try source.block("public struct \(message.name): Sendable") { source in
            let properties = try self.properties(message)
            for property in properties {
                source.doc(property.comment)
                // A default beside that of the parameter would be code that every initializer runs for nothing; a wrapper needs one.
                let initial = property.attribute.isEmpty ? "" : property.assignment
                source.line("\(property.attribute)public var \(property.name): \(property.type)\(initial)")
            }
            guard !properties.isEmpty else { return source.line("public init() {}") }
            source.line()
            source.line("/// The given fields set, the others unset.")
            let parameters = properties.map { "\($0.name): \($0.type)\($0.assignment)" }.joined(separator: ", ")
            source.block("public init(\(parameters))") { source in
                for property in properties { source.line("self.\(property.name) = \(property.name)") }
            }
            for (index, oneof) in message.oneofs.enumerated() {
                try self.oneof(oneof, message.fields.filter { $0.oneof == index }, message, &source)
            }
            for item in message.enums {
                source.line()
                enumeration(item, &source)
            }
            for nested in message.nested where !nested.isMapEntry {
                source.line()
                try self.message(nested, &source)
            }
        }
    }

    struct Property {
        var name: String
        var type: String
        /// nil for what must always be given.
        var initial: String?
        var comment: String
        var attribute = ""

        var assignment: String { initial.map { " = \($0)" } ?? "" }
    }

    /// The stored properties of a message in the order of the proto; a oneof stands where its first field does.
    func properties(_ message: ProtoMessage) throws -> [Property] {
        var seen: Set<Int> = []
        let properties = try message.fields.compactMap { field -> Property? in
            // `value.self` and `value.init` mean something else in Swift, also on the C struct.
            guard !["self", "init"].contains(field.name.lowercased()) else {
                throw GeneratorError("\(message.name): a field cannot be called \(field.name) in Swift")
            }
            if let index = field.oneof {
                guard seen.insert(index).inserted else { return nil }
                let oneof = message.oneofs[index]
                return Property(
                    name: SwiftName.member(oneof.name),
                    type: SwiftName.type(oneof.name) + "?",
                    initial: "nil",
                    comment: oneof.comment
                )
            }
            let (type, initial) = try typeAndDefault(field)
            return Property(
                name: SwiftName.member(field.name),
                type: type,
                initial: initial,
                comment: field.comment,
                attribute: schema.needsBox(field, in: message) ? "@Wire.Boxed " : ""
            )
        }
        guard Set(properties.map(\.name)).count == properties.count else {
            throw GeneratorError("\(message.name): two fields have the same name in Swift")
        }
        return properties
    }

    private func typeAndDefault(_ field: ProtoField) throws -> (String, String?) {
        if let entry = schema.mapEntry(field) {
            return ("[\(try valueType(entry.fields[0])): \(try valueType(entry.fields[1]))]", "[:]")
        }
        let type = try valueType(field)
        if field.isRepeated { return ("[\(type)]", "[]") }
        if field.isOptional { return (type + "?", "nil") }
        switch field.kind {
        case .typed where field.isAlwaysSet: return (type, nil)
        case .timestamp, .message, .typed: return (type + "?", "nil")
        default: return (type, try zero(field))
        }
    }

    /// The type of one value of a field.
    func valueType(_ field: ProtoField) throws -> String {
        switch field.kind {
        case .number(let swift): swift
        case .bool: "Bool"
        case .string: "String"
        case .bytes: "[UInt8]"
        case .timestamp: "Kernel.Instant"
        case .typed(let swift, _): swift
        case .enumeration(let name), .message(let name): try swiftType(name)
        }
    }

    /// The default of one value of a field.
    func zero(_ field: ProtoField) throws -> String {
        switch field.kind {
        case .number: return "0"
        case .bool: return "false"
        case .string: return "\"\""
        case .bytes: return "[]"
        case .timestamp: return ".epoch"
        case .typed: throw GeneratorError("\(field.name): an id or a date has no value that means unset")
        case .message(let name): return try swiftType(name) + "()"
        case .enumeration(let name):
            let item = try schema.enumeration(name)
            guard let first = item.values.first, first.number == 0 else {
                throw GeneratorError("enum \(item.name) must begin with the value 0")
            }
            return "." + SwiftName.member(SwiftName.enumValue(first.name, of: item.name))
        }
    }

    private func oneof(
        _ oneof: ProtoOneof,
        _ fields: [ProtoField],
        _ owner: ProtoMessage,
        _ source: inout SourceText
    ) throws {
        guard !fields.isEmpty else { return }
        guard !fields.contains(where: \.rules.isSecret) else {
            throw GeneratorError("\(owner.name).\(oneof.name): a secret cannot be in a oneof, put it into a message of its own")
        }
        source.line()
        source.doc(oneof.comment)
        let isIndirect = fields.contains { schema.needsBox($0, in: owner) }
        try source.block("public \(isIndirect ? "indirect " : "")enum \(SwiftName.type(oneof.name)): Sendable, Equatable") {
            source in
            for field in fields {
                source.doc(field.comment)
                source.line("case \(SwiftName.member(field.name))(\(try valueType(field)))")
            }
        }
    }

    private func enumeration(_ item: ProtoEnum, _ source: inout SourceText) {
        var seen: Set<Int32> = []
        // An alias has the number of an earlier value: the earlier name stays.
        let values = item.values.filter { seen.insert($0.number).inserted }.map { value in
            let name = SwiftName.enumValue(value.name, of: item.name)
            return (name: name, case: SwiftName.member(name), value: value)
        }
        source.doc(item.comment)
        source.block("public enum \(item.name): Wire.OpenEnum") { source in
            for value in values {
                source.doc(value.value.comment)
                source.line("case \(value.case)")
            }
            source.line("/// A value that is newer than this code.")
            source.line("case unrecognized(Int32)")
            source.line()
            source.line("public static let allCases: [\(item.name)] = [\(values.map { "." + $0.case }.joined(separator: ", "))]")
            source.line()
            source.block("public init(rawValue: Int32)") { source in
                source.line("switch rawValue {")
                for value in values { source.line("case \(value.value.number): self = .\(value.case)") }
                source.line("default: self = .unrecognized(rawValue)")
                source.line("}")
            }
            source.line()
            source.block("public var rawValue: Int32") { source in
                source.line("switch self {")
                for value in values { source.line("case .\(value.case): \(value.value.number)") }
                source.line("case .unrecognized(let number): number")
                source.line("}")
            }
            source.line()
            source.block("public var name: String") { source in
                source.line("switch self {")
                for value in values { source.line("case .\(value.case): \"\(value.name)\"") }
                source.line("case .unrecognized(let number): String(number)")
                source.line("}")
            }
        }
    }

    private func event(_ message: ProtoMessage, _ source: inout SourceText) throws {
        guard let aggregate = message.aggregate else { return }
        guard let field = message.fields.first(where: { $0.name == aggregate }), let text = Self.aggregateText(field) else {
            throw GeneratorError("\(message.name): the aggregate \"\(aggregate)\" must be a plain string field or a required id")
        }
        source.line()
        source.block("extension \(message.path.joined(separator: ".")): Wire.Event") { source in
            let parts = package.split(separator: ".").suffix(2).joined(separator: ".")
            source.line("public static var subject: String { \"evt.\(parts).\(message.path.joined(separator: "."))\" }")
            source.line("public var aggregateID: String { \(text) }")
        }
    }

    private static func aggregateText(_ field: ProtoField) -> String? {
        guard !field.isRepeated, !field.isOptional, field.oneof == nil else { return nil }
        switch field.kind {
        case .string: return SwiftName.member(field.name)
        case .typed where field.isAlwaysSet: return SwiftName.member(field.name) + ".description"
        default: return nil
        }
    }

    /// The request of a list says how big its pages are, and what besides its place in the list makes it the request it is.
    private func page(_ message: ProtoMessage, _ source: inout SourceText) throws {
        guard let rules = message.page else { return }
        func isThere(_ name: String, _ isRight: (ProtoField) -> Bool) -> Bool {
            message.fields.contains { $0.name == name && !$0.isRepeated && isRight($0) }
        }
        func isNumber(_ field: ProtoField) -> Bool {
            if case .number(swift: "Int32") = field.kind { return true }
            return false
        }
        func isText(_ field: ProtoField) -> Bool {
            if case .string = field.kind { return true }
            return false
        }
        let hasNumber = isThere("page") { isNumber($0) && $0.isOptional }
        guard isThere("limit", { isNumber($0) && !$0.isOptional }), isThere("cursor", { isText($0) && !$0.isOptional }),
            hasNumber || !message.fields.contains(where: { $0.name == "page" })
        else {
            throw GeneratorError("\(message.name): pages need int32 limit and string cursor, and optional int32 page if any")
        }
        source.line()
        source.block("extension \(message.path.joined(separator: ".")): Wire.PagedRequest") { source in
            let size = "Kernel.PageSize(standard: \(rules.standard), most: \(rules.most))"
            source.line("public static var pageSize: Kernel.PageSize { \(size) }")
            if !hasNumber { source.line("public var page: Int32? { nil }") }
            source.block("public var withoutPlace: Self") { source in
                source.line("var filters = self")
                source.line("filters.limit = 0")
                source.line("filters.cursor = \"\"")
                if hasNumber { source.line("filters.page = nil") }
                source.line("return filters")
            }
        }
    }

    /// Messages with a secret say how they print themselves.
    private func secrets(_ message: ProtoMessage, _ source: inout SourceText) throws {
        guard message.hasSecret else { return }
        let secret = Set(message.fields.filter(\.rules.isSecret).map { SwiftName.member($0.name) })
        source.line()
        try source.block("extension \(message.path.joined(separator: ".")): Wire.SecretBearing") { source in
            try source.block("public var customMirror: Mirror") { source in
                let children = try properties(message).map { property in
                    let value = secret.contains(property.name) ? "Wire.Redacted()" : "\(property.name) as Any"
                    return "\(SourceText.literal(property.name.filter { $0 != "`" })): \(value)"
                }
                source.line("Mirror(self, children: [\(children.joined(separator: ", "))], displayStyle: .struct)")
            }
        }
    }
}
