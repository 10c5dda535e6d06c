internal import Wire

/// `streaksnap.options.v1.FieldRules`, read from the raw bytes of a field's options.
struct FieldRules {
    var isRequired = false
    var minLength: UInt64?
    var maxLength: UInt64?
    var minBytes: UInt64?
    var maxBytes: UInt64?
    var least: Int64?
    var most: Int64?
    var pattern = ""
    var allowed: [String] = []
    var minItems: UInt64?
    var maxItems: UInt64?
    var format: UInt64 = 0
    var isSecret = false

    /// Number of `(streaksnap.options.v1.field)` in google.protobuf.FieldOptions.
    static let extensionNumber = 50001
    /// Swift names of `Format` in `Wire.TextFormat`, by number.
    static let formats = [1: "uuid", 2: "email", 3: "date", 4: "month", 5: "timeZone", 6: "uri"] as [UInt64: String]

    /// Whether there is nothing to validate.
    var isEmpty: Bool { !isRequired && !hasTextRules && least == nil && most == nil && minItems == nil && maxItems == nil }
    /// Whether a string or bytes value itself is restricted.
    var hasTextRules: Bool {
        minLength != nil || maxLength != nil || minBytes != nil || maxBytes != nil || !pattern.isEmpty || !allowed.isEmpty
            || format != 0
    }

    init(options: [UInt8]) throws {
        guard let rules = try extensionBytes(Self.extensionNumber, in: options) else { return }
        var fields = WireFields(rules)
        while let field = try fields.next() {
            switch (field.number, field.value) {
            case (1, .varint(let value)): isRequired = value != 0
            case (2, .varint(let value)): minLength = value
            case (3, .varint(let value)): maxLength = value
            case (4, .varint(let value)): minBytes = value
            case (5, .varint(let value)): maxBytes = value
            case (6, .varint(let value)): least = Int64(bitPattern: value)
            case (7, .varint(let value)): most = Int64(bitPattern: value)
            case (8, .bytes(let value)): pattern = String(decoding: value, as: UTF8.self)
            case (9, .bytes(let value)): allowed.append(String(decoding: value, as: UTF8.self))
            case (10, .varint(let value)): minItems = value
            case (11, .varint(let value)): maxItems = value
            case (12, .varint(let value)): format = value
            case (13, .varint(let value)): isSecret = value != 0
            // An example is only for the OpenAPI page.
            case (14, .bytes): continue
            default: throw GeneratorError("FieldRules has a field \(field.number) that the generator does not know")
            }
        }
    }
}

/// The parts of `streaksnap.options.v1.MethodPolicy` that the generator needs.
struct MethodPolicy {
    var isIdempotent = false
    /// Budget of one call in milliseconds.
    var timeout: UInt64 = 10_000

    static let extensionNumber = 50002

    init(options: [UInt8]) throws {
        guard let policy = try extensionBytes(Self.extensionNumber, in: options) else { return }
        var fields = WireFields(policy)
        while let field = try fields.next() {
            switch (field.number, field.value) {
            case (2, .varint(let value)): isIdempotent = value != 0
            case (3, .varint(let value)) where value > 0: timeout = value
            default: continue
            }
        }
    }
}

/// `streaksnap.options.v1.EventPolicy`: the aggregate's field, or nil for a message that is not an event.
func eventAggregate(options: [UInt8]) throws -> String? {
    guard let policy = try extensionBytes(50003, in: options) else { return nil }
    var fields = WireFields(policy)
    while let field = try fields.next() {
        if case (1, .bytes(let name)) = (field.number, field.value) { return String(decoding: name, as: UTF8.self) }
    }
    return ""
}

/// The bytes of one message extension; several pieces of it are merged, as protobuf requires.
private func extensionBytes(_ number: Int, in options: [UInt8]) throws -> [UInt8]? {
    var found: [UInt8]?
    var fields = WireFields(options)
    while let field = try fields.next() {
        if field.number == number, case .bytes(let value) = field.value { found = (found ?? []) + value }
    }
    return found
}
