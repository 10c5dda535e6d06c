internal import Wire

/// The route of a method (its first binding) and how its bodies travel: what a client needs to call it over HTTP.
struct HTTPBinding {
    /// `streaksnap.options.v1.Auth`.
    enum Auth: UInt64 {
        case unspecified, none, guest, user, admin, secret, internalOnly
    }

    /// A field of a raw request that travels in a header.
    struct Header {
        var name = ""
        var field = ""
    }

    var verb: String
    var path: String
    /// `*`, the name of a field, or empty.
    var body: String
    var auth = Auth.unspecified
    /// The multipart part that is a file, and the request's field that it stands for.
    var upload: (part: String, field: String)?
    /// The field of a request whose body is not JSON.
    var rawField: String?
    var rawHeaders: [Header] = []
    /// Whether the reply is not JSON.
    var isFile = false
    var isStream = false
    var isBare = false
    var isExact = false
    /// Budget in milliseconds.
    var timeout: UInt64 = 10_000
    /// `error.code`s that the method declares.
    var reasons: [String] = []

    /// Whether an app may call it: not other services, and not webhooks.
    var isPublic: Bool { auth != .secret && auth != .internalOnly }

    /// nil when the method has no route.
    ///
    /// - Parameters:
    ///   - rule: a google.api.HttpRule.
    ///   - policy: a MethodPolicy.
    init?(rule: [UInt8], policy: [UInt8]) throws {
        let verbs = [2: "GET", 3: "PUT", 4: "POST", 5: "DELETE", 6: "PATCH"]
        var (verb, path, body) = ("", "", "")
        var fields = WireFields(rule)
        while let field = try fields.next() {
            guard case .bytes(let bytes) = field.value else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            if let known = verbs[Int(field.number)] { (verb, path) = (known, text) }
            if field.number == 7 { body = text }
        }
        guard !path.isEmpty else { return nil }
        (self.verb, self.path, self.body) = (verb, path, body)
        try read(policy)
    }

    private mutating func read(_ policy: [UInt8]) throws {
        var fields = WireFields(policy)
        while let field = try fields.next() {
            switch (field.number, field.value) {
            case (1, .varint(let value)): auth = Auth(rawValue: value) ?? .unspecified
            case (3, .varint(let value)) where value > 0: timeout = value
            case (4, .bytes(let bytes)):
                let texts = try Self.texts(bytes)
                upload = (texts[1]?.first ?? "", texts[2]?.first ?? "")
            case (5, .bytes): isFile = true
            case (6, .bytes): isStream = true
            case (8, .varint(let value)): isBare = value != 0
            case (10, .bytes(let bytes)): reasons.append(String(decoding: bytes, as: UTF8.self))
            case (12, .bytes(let bytes)): try readRaw(bytes)
            case (14, .varint(let value)): isExact = value != 0
            default: continue
            }
        }
    }

    private mutating func readRaw(_ bytes: ArraySlice<UInt8>) throws {
        var fields = WireFields(bytes)
        while let field = try fields.next() {
            guard case .bytes(let bytes) = field.value else { continue }
            if field.number == 1 { rawField = String(decoding: bytes, as: UTF8.self) }
            if field.number == 3 {
                let texts = try Self.texts(bytes)
                rawHeaders.append(Header(name: texts[1]?.first ?? "", field: texts[2]?.first ?? ""))
            }
        }
    }

    /// The texts of a message by field number.
    private static func texts(_ message: ArraySlice<UInt8>) throws -> [Int: [String]] {
        var result: [Int: [String]] = [:]
        var fields = WireFields(message)
        while let field = try fields.next() {
            guard case .bytes(let bytes) = field.value else { continue }
            result[Int(field.number), default: []].append(String(decoding: bytes, as: UTF8.self))
        }
        return result
    }

    /// The variables of the path: `{post_id}` is `post_id`, `{key=**}` is `key`.
    var variables: [String] {
        path.split(separator: "{").dropFirst().map { part in
            String(part.prefix { $0 != "}" && $0 != "=" })
        }
    }

    /// The path with plain variables: `/media/{key}`.
    var template: String {
        var result = ""
        var isSkipping = false
        for character in path {
            if character == "=" { isSkipping = true }
            if character == "}" { isSkipping = false }
            if !isSkipping { result.append(character) }
        }
        return result
    }
}
