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
    var allowed: [String] = []
    var minItems: UInt64?
    var maxItems: UInt64?
    var format: UInt64 = 0
    var isSecret = false
    /// `Streak` for a text that is a `StreakID`; empty for any other.
    var id = ""
    /// Whether a text is a calendar date.
    var isDate = false

    /// Number of `(streaksnap.options.v1.field)` in google.protobuf.FieldOptions.
    static let extensionNumber = 50001
    /// Swift names of `Format` in `Wire.TextFormat`, by number.
    static let formats: [UInt64: String] = [
        1: "uuid", 2: "email", 3: "date", 4: "month", 5: "timeZone", 6: "uri", 7: "username", 8: "version",
    ]

    /// Whether there is nothing to validate.
    var isEmpty: Bool {
        !isRequired && !hasTextRules && !isTyped && least == nil && most == nil && minItems == nil && maxItems == nil
    }
    /// Whether the text is an id or a date in Swift.
    var isTyped: Bool { !id.isEmpty || isDate }
    /// Whether a string or bytes value itself is restricted.
    var hasTextRules: Bool {
        minLength != nil || maxLength != nil || minBytes != nil || maxBytes != nil || !allowed.isEmpty || format != 0
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
            case (9, .bytes(let value)): allowed.append(String(decoding: value, as: UTF8.self))
            case (10, .varint(let value)): minItems = value
            case (11, .varint(let value)): maxItems = value
            case (12, .varint(let value)): format = value
            case (13, .varint(let value)): isSecret = value != 0
            // An example is for the OpenAPI page alone.
            case (14, .bytes): continue
            case (15, .bytes(let value)): id = String(decoding: value, as: UTF8.self)
            case (16, .varint(let value)): isDate = value != 0
            default: throw GeneratorError("FieldRules has a field \(field.number) that the generator does not know")
            }
        }
    }
}

/// What the generator needs of a method's routes and of `streaksnap.options.v1.MethodPolicy`.
struct MethodPolicy {
    var isIdempotent = false
    var isInternal = false
    /// Whether a route has a verb that changes something.
    var hasChangingRoute = false
    /// `streaksnap.options.v1.Effect`.
    var effect: UInt64 = 0
    /// Budget of one call in milliseconds.
    var timeout: UInt64 = 10_000
    /// How it is called over HTTP; nil when it has no route.
    var http: HTTPBinding?

    static let extensionNumber = 50002
    /// Number of `(google.api.http)` in google.protobuf.MethodOptions.
    static let routeNumber = 72_295_728

    /// Whether the method changes something, so that its handler must say what makes that happen once.
    var isMutation: Bool {
        switch effect {
        case 1: false
        case 2: true
        default: hasChangingRoute || (isInternal && !isIdempotent)
        }
    }

    init(options: [UInt8]) throws {
        let rule = try extensionBytes(Self.routeNumber, in: options) ?? []
        hasChangingRoute = try Self.changes(rule)
        http = try HTTPBinding(rule: rule, policy: try extensionBytes(Self.extensionNumber, in: options) ?? [])
        guard let policy = try extensionBytes(Self.extensionNumber, in: options) else { return }
        var fields = WireFields(policy)
        while let field = try fields.next() {
            switch (field.number, field.value) {
            case (1, .varint(let value)): isInternal = value == 6
            case (2, .varint(let value)): isIdempotent = value != 0
            case (3, .varint(let value)) where value > 0: timeout = value
            case (11, .varint(let value)): effect = value
            default: continue
            }
        }
    }

    /// Whether a google.api.HttpRule, or one of its additional bindings (11), is a PUT (3), POST (4), DELETE (5) or PATCH (6).
    private static func changes(_ rule: [UInt8]) throws -> Bool {
        var fields = WireFields(rule)
        while let field = try fields.next() {
            if (3...6).contains(field.number) { return true }
            if field.number == 11, case .bytes(let inner) = field.value, try changes(Array(inner)) { return true }
        }
        return false
    }
}

/// `streaksnap.options.v1.PageRules` of the request of a list.
struct PageRules {
    var standard: UInt64 = 0
    var most: UInt64 = 0

    /// nil for a message that is no such request.
    init?(options: [UInt8]) throws {
        guard let rules = try extensionBytes(50004, in: options) else { return nil }
        var fields = WireFields(rules)
        while let field = try fields.next() {
            switch (field.number, field.value) {
            case (1, .varint(let value)): standard = value
            case (2, .varint(let value)): most = value
            default: continue
            }
        }
        guard standard > 0, standard <= most else { throw GeneratorError("page: standard must be from 1 to most") }
    }
}

/// `streaksnap.options.v1.EventPolicy`: the aggregate's field, or nil for a message that is no event.
func eventAggregate(options: [UInt8]) throws -> String? {
    guard let policy = try extensionBytes(50003, in: options) else { return nil }
    var fields = WireFields(policy)
    while let field = try fields.next() {
        if case (1, .bytes(let name)) = (field.number, field.value) { return String(decoding: name, as: UTF8.self) }
    }
    return ""
}

/// The bytes of one message extension; several pieces of it are merged, as protobuf demands.
private func extensionBytes(_ number: Int, in options: [UInt8]) throws -> [UInt8]? {
    var found: [UInt8]?
    var fields = WireFields(options)
    while let field = try fields.next() {
        if field.number == number, case .bytes(let value) = field.value { found = (found ?? []) + value }
    }
    return found
}
