internal import Kernel

/// Examples for the OpenAPI page: what a field declares (`example`), or what its name, form and bounds suggest.
struct OpenAPIExamples {
    /// How deep an example goes into a message that holds itself.
    private static let maximumDepth = 6

    let set: DescriptorSet
    /// The day around which dates and times lie: what the examples say can be sent.
    let today: CalendarDate

    /// A message of a request or a reply, all fields filled; of a oneof the first member only.
    func message(_ name: String, isReply: Bool, without: [String] = []) -> JSONNode {
        object(name, isReply: isReply, without: without, inside: [])
    }

    private func object(_ name: String, isReply: Bool, without: [String], inside: [String]) -> JSONNode {
        guard let message = set.message(named: name) else { return [:] }
        var members: [(String, JSONNode)] = []
        var oneofs: Set<Int> = []
        for field in message.fields where !without.contains(field.name) {
            if let oneof = field.oneof, !oneofs.insert(oneof).inserted {
                if isReply { members.append((field.name, .null)) }
                continue
            }
            let value = value(field, isReply: isReply, inside: inside + [name])
            if value != .null || isReply { members.append((field.name, value)) }
        }
        return .object(members)
    }

    /// A field's value; null when the field has no place in examples.
    func value(_ field: FieldDescriptor, isReply: Bool, inside: [String] = []) -> JSONNode {
        // A reply leaves no list out.
        if field.rules.example == "null" { return isReply && field.shape == .repeated ? [] : .null }
        switch field.shape {
        case .scalar, .optional: return single(field, isReply: isReply, inside: inside)
        case .repeated:
            let value = single(field, isReply: isReply, inside: inside)
            return value == .null ? [] : .array(Array(repeating: value, count: Int(max(1, field.rules.minItems ?? 1))))
        case .map: return [:]
        }
    }

    private func single(_ field: FieldDescriptor, isReply: Bool, inside: [String]) -> JSONNode {
        let declared = field.rules.example
        switch field.kind {
        case .message:
            guard !inside.contains(field.typeName), inside.count < Self.maximumDepth else { return .null }
            return object(field.typeName, isReply: isReply, without: [], inside: inside)
        case .string: return .string(declared.isEmpty ? text(field) : date(declared)?.description ?? declared)
        case .timestamp: return .string(declared.isEmpty ? Self.time(today) : date(declared).map(Self.time) ?? declared)
        case .bytes: return "AQID"
        case .bool: return .bool(declared == "true")
        case .enumeration:
            let first = set.enumeration(named: field.typeName)?.values.first { !$0.isUnspecified }
            return .string(declared.isEmpty ? field.rules.shown.oneOf.first ?? first?.jsonName ?? "" : declared)
        case .double, .float:
            let number = Double(declared).flatMap { $0.isFinite ? $0 : nil } ?? 1
            let (least, most) = (field.rules.atLeast.map { Double($0) }, field.rules.atMost.map { Double($0) })
            return .number(min(max(number, least ?? number), most ?? .greatestFiniteMagnitude))
        default:
            let number = Int64(declared) ?? 1
            return .integer(min(max(number, field.rules.atLeast ?? .min), field.rules.atMost ?? .max))
        }
    }

    private func text(_ field: FieldDescriptor) -> String {
        switch field.rules.format {
        case .uuid: return Self.id(field.name)
        case .email: return "ada@example.com"
        case .date: return today.description
        case .month: return "2026-01"
        case .timeZone: return "Europe/Berlin"
        case .uri: return "https://example.com/\(field.name)"
        case .version: return "2026-01"
        case .unspecified, .username: break
        }
        if let first = (field.rules.shown.oneOf + field.rules.oneOf).first { return first }
        if field.name == "id" || field.name.hasSuffix("_id") { return Self.id(field.name) }
        if field.name == "date" || field.name.hasSuffix("_date") { return today.description }
        if field.name.hasSuffix("_url") { return "https://example.com/\(field.name)" }
        let words = field.name.split(separator: "_").joined(separator: " ")
        let text = words.prefix(1).uppercased() + words.dropFirst()
        let most = min(Int(field.rules.maxLength ?? .max), Int(field.rules.maxBytes ?? .max))
        return String(text.prefix(most))
    }

    /// The date that a declared example names: `today`, `today+7`, `today-30`; nil for any other text.
    private func date(_ declared: String) -> CalendarDate? {
        guard declared.hasPrefix("today") else { return nil }
        let days = declared.dropFirst("today".count)
        return days.isEmpty ? today : Int(days).map { today.advanced(by: $0) }
    }

    /// The beginning of a date: of today an instant that has passed.
    static func time(_ date: CalendarDate) -> String { "\(date)T00:00:00Z" }

    /// An id that is the same whenever the page is made, and another one for another name.
    static func id(_ name: String) -> String {
        let digits = String(StableHash.fnv1a(name.utf8) & 0xFFFF_FFFF_FFFF, radix: 16)
        return "01900000-0000-7000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }
}
