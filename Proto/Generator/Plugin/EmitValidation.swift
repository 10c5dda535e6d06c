internal import Wire

// Checks from the validation options. A message without rules, also in its fields, gets an empty function.
extension ModuleEmitter {
    func validations(_ file: ProtoFile) throws -> String {
        var source = SourceText(origin: file.name, imports: ["public import Wire"])
        for message in file.allMessages {
            source.line()
            try source.block("extension \(message.path.joined(separator: "."))") { source in
                let head = "public func collectViolations(into violations: inout Wire.Violations, path: Wire.FieldPath)"
                guard withRules.contains(message.fullName) else { return source.line(head + " {}") }
                try source.block(head) { source in
                    for field in message.fields where field.oneof == nil { try check(field, message, &source) }
                    for (index, oneof) in message.oneofs.enumerated() {
                        try checkOneof(oneof, message.fields.filter { $0.oneof == index }, message, &source)
                    }
                }
            }
        }
        return source.text
    }

    private func check(_ field: ProtoField, _ message: ProtoMessage, _ source: inout SourceText) throws {
        try refuseMisplaced(field, message)
        let property = "self." + SwiftName.bare(field.name)
        let name = "\"\(field.name)\""
        if field.isRepeated { return try checkRepeated(field, property, name, &source) }
        let checks = try valueChecks(field, "value", name)
        switch field.kind {
        case .typed where field.isAlwaysSet: try valueChecks(field, property, name).forEach { source.line($0) }
        case _ where field.isOptional, .timestamp, .message, .typed:
            if field.rules.isRequired {
                // A required value must also not be empty or zero; a message only has to be set.
                let isMissing = isZero(field, "$0").map { "\(property).map({ \($0) }) ?? true" } ?? "\(property) == nil"
                source.line("if \(isMissing) { violations.required(at: path, \(name)) }")
            }
            if !checks.isEmpty {
                source.block("if let value = \(property)") { source in checks.forEach { source.line($0) } }
            }
        default:
            let direct = try valueChecks(field, property, name)
            guard field.rules.isRequired, let empty = isZero(field, property) else {
                return direct.forEach { source.line($0) }
            }
            guard !direct.isEmpty else { return source.line("if \(empty) { violations.required(at: path, \(name)) }") }
            // A missing number is 0: where both bounds refuse that, they say what a number that was sent as 0 should have been.
            if let least = field.rules.least, let most = field.rules.most, least > 0 || most < 0 {
                return direct.forEach { source.line($0) }
            }
            source.line("if \(empty) {")
            source.line("    violations.required(at: path, \(name))")
            source.line("} else {")
            direct.forEach { source.line("    " + $0) }
            source.line("}")
        }
    }

    private func checkRepeated(_ field: ProtoField, _ property: String, _ name: String, _ source: inout SourceText) throws {
        let rules = field.rules
        if rules.isRequired { source.line("if \(property).isEmpty { violations.required(at: path, \(name)) }") }
        let bounds = arguments(rules.minItems, rules.maxItems)
        if !bounds.isEmpty { source.line("violations.items(\(property).count, \(bounds), at: path, \(name))") }
        if let entry = schema.mapEntry(field) {
            guard let type = entry.fields[1].messageType, withRules.contains(type) else { return }
            let child = "path.child(\(name), key: key)"
            return source.line(
                "for (key, value) in \(property) { value.collectViolations(into: &violations, path: \(child)) }"
            )
        }
        let checks = try valueChecks(field, "value", name, index: true)
        guard !checks.isEmpty else { return }
        source.block("for (index, value) in \(property).enumerated()") { source in checks.forEach { source.line($0) } }
    }

    private func checkOneof(
        _ oneof: ProtoOneof,
        _ fields: [ProtoField],
        _ message: ProtoMessage,
        _ source: inout SourceText
    ) throws {
        for field in fields {
            try refuseMisplaced(field, message)
            guard !field.rules.isRequired else {
                throw GeneratorError("\(message.name).\(field.name): a field of a oneof cannot be required")
            }
            let checks = try valueChecks(field, "value", "\"\(field.name)\"")
            guard !checks.isEmpty else { continue }
            let pattern = "case .\(SwiftName.bare(field.name))(let value)? = self.\(SwiftName.bare(oneof.name))"
            source.block("if \(pattern)") { source in checks.forEach { source.line($0) } }
        }
    }

    /// One statement per rule about one value.
    private func valueChecks(_ field: ProtoField, _ value: String, _ name: String, index: Bool = false) throws -> [String] {
        let rules = field.rules
        let place = "at: path, \(name)" + (index ? ", index: index" : "")
        var checks: [String] = []
        switch field.kind {
        case .string, .bytes:
            let length = arguments(rules.minLength, rules.maxLength)
            if !length.isEmpty { checks.append("violations.length(\(value), \(length), \(place))") }
            let bytes = arguments(rules.minBytes, rules.maxBytes)
            var count = "\(value).count"
            if case .string = field.kind { count = "\(value).utf8.count" }
            if !bytes.isEmpty { checks.append("violations.bytes(\(count), \(bytes), \(place))") }
            if !rules.allowed.isEmpty {
                let allowed = rules.allowed.map(SourceText.literal).joined(separator: ", ")
                checks.append("violations.member(\(value), of: [\(allowed)], \(place))")
            }
            if rules.format != 0 {
                guard let format = FieldRules.formats[rules.format] else {
                    throw GeneratorError("unknown format \(rules.format)")
                }
                checks.append("violations.format(\(value), .\(format), \(place))")
            }
        case .number:
            let bounds = [rules.least.map { "min: \($0)" }, rules.most.map { "max: \($0)" }].compactMap { $0 }
            if !bounds.isEmpty {
                checks.append("violations.bounds(\(value), \(bounds.joined(separator: ", ")), \(place))")
            }
        case .typed(_, let text): checks.append("violations.\(text.rawValue)(\(value), \(place))")
        case .enumeration where rules.isRequired:
            checks.append("if case .unrecognized = \(value) { violations.add(\"is not a known value\", \(place)) }")
        case .message(let type) where withRules.contains(type):
            let child = "path.child(\(name)" + (index ? ", index: index" : "") + ")"
            checks.append("\(value).collectViolations(into: &violations, path: \(child))")
        default: break
        }
        return checks
    }

    /// A rule that does not apply to the field's type is a mistake in the proto.
    private func refuseMisplaced(_ field: ProtoField, _ message: ProtoMessage) throws {
        let rules = field.rules
        let isMap = schema.mapEntry(field) != nil
        var isString = false
        var isBytes = false
        var isNumber = false
        switch field.kind {
        case .string: isString = true
        case .bytes: isBytes = true
        case .number: isNumber = true
        default: break
        }
        let onlyStrings =
            rules.minLength != nil || rules.maxLength != nil || !rules.allowed.isEmpty || rules.format != 0
        let isWrong =
            (onlyStrings && !isString) || (rules.hasTextRules && !isString && !isBytes)
            || ((rules.least != nil || rules.most != nil) && !isNumber)
            || ((rules.minItems != nil || rules.maxItems != nil) && !field.isRepeated)
            || (isMap && (rules.hasTextRules || rules.isTyped || rules.least != nil || rules.most != nil))
        if isWrong { throw GeneratorError("\(message.name).\(field.name): a rule that does not fit the field's type") }
    }

    /// The condition for a value that counts as not set; nil where only presence counts.
    private func isZero(_ field: ProtoField, _ value: String) -> String? {
        switch field.kind {
        case .string, .bytes: "\(value).isEmpty"
        case .number: "\(value) == 0"
        case .bool: "!\(value)"
        case .enumeration: "\(value).rawValue == 0"
        case .timestamp, .message, .typed: nil
        }
    }

    private func arguments(_ min: UInt64?, _ max: UInt64?) -> String {
        [min.map { "min: \($0)" }, max.map { "max: \($0)" }].compactMap { $0 }.joined(separator: ", ")
    }
}
