import Transcoding

/// Random JSON for any message of a descriptor set.
struct RandomMessages {
    var random: Seeded
    let set: DescriptorSet

    mutating func json(_ name: String, depth: Int = 0) -> String {
        guard let message = set.message(named: name) else { return "{}" }
        var takenOneofs: Set<Int> = []
        var members: [String] = []
        for field in message.fields.shuffled(using: &random) {
            guard Int.random(in: 0..<(depth == 0 ? 2 : 5), using: &random) == 0 else { continue }
            if let oneof = field.oneof, !takenOneofs.insert(oneof).inserted { continue }
            members.append("\"\(field.name)\":\(value(field, depth))")
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    private mutating func value(_ field: FieldDescriptor, _ depth: Int) -> String {
        switch field.shape {
        case .scalar, .optional: return single(field, depth)
        case .repeated:
            return "[" + (0..<Int.random(in: 0...4, using: &random)).map { _ in single(field, depth) }.joined(separator: ",")
                + "]"
        case .map:
            guard let entry = set.message(named: field.typeName) else { return "{}" }
            var keys: Set<String> = []
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                // Two spellings of one key would be refused as given twice, so text keys have one spelling.
                let isText = entry.fields[0].kind == .string
                keys.insert(isText ? "\"é😀 \(random.next() % 1_000)\"" : "\"\(single(entry.fields[0], depth))\"")
            }
            return "{" + keys.sorted().map { "\($0):\(single(entry.fields[1], depth))" }.joined(separator: ",") + "}"
        }
    }

    private mutating func single(_ field: FieldDescriptor, _ depth: Int) -> String {
        switch field.kind {
        case .double: return "\(Double(Int.random(in: -1_000_000...1_000_000, using: &random)) * 0.37)"
        case .float: return "\(Float(Int.random(in: -10_000...10_000, using: &random)) * 0.5)"
        case .int32, .sint32, .sfixed32: return "\(integer(Int32.self))"
        case .int64, .sint64, .sfixed64: return "\(integer(Int64.self))"
        case .uint32, .fixed32: return "\(integer(UInt32.self))"
        case .uint64, .fixed64: return "\(integer(UInt64.self))"
        case .bool: return Bool.random(using: &random) ? "true" : "false"
        case .string: return text()
        case .bytes:
            let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
            let quads = Int.random(in: 0...20, using: &random)
            return "\"" + String((0..<quads * 4).map { _ in letters.randomElement(using: &random) ?? "A" }) + "\""
        case .enumeration:
            let names = set.enumeration(named: field.typeName)?.values.map(\.jsonName) ?? []
            return "\"\(names.randomElement(using: &random) ?? "")\""
        case .timestamp:
            func two(_ range: ClosedRange<Int>) -> String {
                String(String(100 + Int.random(in: range, using: &random)).dropFirst())
            }
            let year = Int.random(in: 1_000...9_998, using: &random)
            let fraction = ["", ".5", ".123", ".000001", ".123456789"].randomElement(using: &random) ?? ""
            let zone = ["Z", "+05:30", "-11:00"].randomElement(using: &random) ?? "Z"
            return "\"\(year)-\(two(1...12))-\(two(1...28))T\(two(0...23)):\(two(0...59)):\(two(0...59))\(fraction)\(zone)\""
        case .message: return depth < 4 ? json(field.typeName, depth: depth + 1) : "{}"
        }
    }

    private mutating func integer<Number: FixedWidthInteger>(_: Number.Type) -> Number {
        let size = Int.random(in: 0...Number.bitWidth, using: &random)
        let value = Number(truncatingIfNeeded: random.next())
        return size == Number.bitWidth ? value : value >> Number(size)
    }

    private mutating func text() -> String {
        let pieces = [
            "a", "Z", "é", "\\n", "\\\"", "\\\\", "\\u00e9", "\\ud83d\\ude00", "😀", "/", " ", "ß", "\\u0001",
            "plain text of some length",
        ]
        let count = Int.random(in: 0...12, using: &random)
        return "\"" + (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined() + "\""
    }
}
