internal import Wire

// Checks from the validation options. A message without rules, also in its fields, gets none.
extension ModuleEmitter {
    func validation(_ message: ProtoMessage, _ source: inout SourceText) throws {
        var checks: [String] = []
        for field in message.fields where field.oneof == nil { checks += try self.checks(field, message) }
        for (index, oneof) in message.oneofs.enumerated() {
            checks += try self.checks(oneof, message.fields.filter { $0.oneof == index }, message)
        }
        guard !checks.isEmpty else { return }
        source.block("public func collectViolations(into violations: inout Wire.Violations, path: Wire.FieldPath)") { source in
            for check in checks { source.line(check) }
        }
    }

    private func checks(_ field: ProtoField, _ message: ProtoMessage) throws -> [String] {
        try refuseMisplaced(field, message)
        let property = "self." + SwiftName.bare(field.name)
        let required = "violations.required(at: path, \"\(field.name)\")"
        if field.isRepeated { return try repeatedChecks(field, property, required) }
        switch field.kind {
        case .typed where field.isAlwaysSet: return try valueChecks(field, property)
        case _ where field.isOptional, .timestamp, .message, .typed:
            let checks = Self.conditional("if let value = \(property)", try valueChecks(field, "value"))
            guard field.rules.isRequired else { return checks }
            // A required value must also not be empty or zero; a message only has to be set.
            let isMissing = isZero(field, "$0").map { "\(property).map({ \($0) }) ?? true" } ?? "\(property) == nil"
            return ["if \(isMissing) { \(required) }"] + checks
        default:
            let checks = try valueChecks(field, property)
            guard field.rules.isRequired, let empty = isZero(field, property) else { return checks }
            // A missing number is 0: where both bounds refuse that, they say what a number that was sent as 0 should have been.
            if let least = field.rules.least, let most = field.rules.most, least > 0 || most < 0 { return checks }
            // Of what else is wrong with the field the first counts.
            return ["if \(empty) { \(required) }"] + checks
        }
    }

    /// Statements under a condition; none when there are none.
    private static func conditional(_ head: String, _ checks: [String]) -> [String] {
        switch checks.count {
        case 0: []
        case 1: ["\(head) { \(checks[0]) }"]
        default: ["\(head) {"] + checks.map { "    " + $0 } + ["}"]
        }
    }

    private func repeatedChecks(_ field: ProtoField, _ property: String, _ required: String) throws -> [String] {
        let rules = field.rules
        var checks = rules.isRequired ? ["if \(property).isEmpty { \(required) }"] : []
        let bounds = arguments(rules.minItems, rules.maxItems)
        if !bounds.isEmpty { checks.append("violations.items(\(property).count, \(bounds), at: path, \"\(field.name)\")") }
        if let entry = schema.mapEntry(field) {
            guard let type = entry.fields[1].messageType, withRules.contains(type) else { return checks }
            let check = "value.collectViolations(into: &violations, path: path.child(\"\(field.name)\", key: key))"
            return checks + ["for (key, value) in \(property) { \(check) }"]
        }
        let each = try valueChecks(field, "value", index: true)
        return checks + Self.conditional("for (index, value) in \(property).enumerated()", each)
    }

    private func checks(_ oneof: ProtoOneof, _ fields: [ProtoField], _ message: ProtoMessage) throws -> [String] {
        try fields.flatMap { field in
            try refuseMisplaced(field, message)
            guard !field.rules.isRequired else {
                throw GeneratorError("\(message.name).\(field.name): a field of a oneof cannot be required")
            }
            let pattern = "case .\(SwiftName.bare(field.name))(let value)? = self.\(SwiftName.bare(oneof.name))"
            return Self.conditional("if \(pattern)", try valueChecks(field, "value"))
        }
    }

    /// One statement per rule about one value.
    private func valueChecks(_ field: ProtoField, _ value: String, index: Bool = false) throws -> [String] {
        let rules = field.rules
        let name = "\"\(field.name)\""
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
