/// Reads the options this gateway knows from the option messages of a descriptor. protoc may split one option over several
/// occurrences, so every function adds to what is there.
enum OptionsParser {
    /// `google.protobuf.FieldOptions`: packed 2, deprecated 3, `(streaksnap.options.v1.field)` 50001, `(streaksnap.options.v1.shown)` 50005.
    static func field(_ options: WireCursor, into field: inout FieldDescriptor) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (2, .varint(let flag)): field.isPacked = flag != 0
            case (3, .varint(let flag)): field.isDeprecated = flag != 0
            case (50001, .bytes(let inner)): try rules(inner, into: &field.rules)
            case (50005, .bytes(let inner)): try shown(inner, into: &field.rules.shown)
            default: break
            }
        }
    }

    /// `google.protobuf.MethodOptions`: deprecated 33, `(google.api.http)` 72295728, `(streaksnap.options.v1.method)` 50002.
    static func method(_ options: WireCursor, into method: inout MethodDescriptor) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (33, .varint(let flag)): method.isDeprecated = flag != 0
            case (72_295_728, .bytes(let inner)): try httpRule(inner, into: &method.bindings, depth: 0)
            case (50002, .bytes(let inner)): try policy(inner, into: &method.policy)
            default: break
            }
        }
    }

    /// `google.protobuf.MessageOptions`: map_entry 7, `(streaksnap.options.v1.event)` 50003, `(streaksnap.options.v1.page)` 50004.
    static func message(_ options: WireCursor, into message: inout MessageDescriptor) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (7, .varint(let flag)): message.isMapEntry = flag != 0
            case (50003, .bytes(var inner)):
                message.eventAggregate = message.eventAggregate ?? ""
                while let (number, value) = try inner.next() {
                    if case (1, .bytes(let text)) = (number, value) { message.eventAggregate = try text.text() }
                }
            case (50004, .bytes(var inner)):
                var size = message.pageSize ?? (standard: 0, most: 0)
                while let (number, value) = try inner.next() {
                    guard case .varint(let raw) = value else { continue }
                    if number == 1 { size.standard = UInt32(clamping: raw) }
                    if number == 2 { size.most = UInt32(clamping: raw) }
                }
                message.pageSize = size
            default: break
            }
        }
    }

    /// `google.api.HttpRule`. Additional bindings may not nest (http.proto), which also bounds the recursion.
    private static func httpRule(_ rule: WireCursor, into bindings: inout [HTTPBinding], depth: Int) throws(WireProblem) {
        var cursor = rule
        var binding = HTTPBinding()
        var additional: [WireCursor] = []
        while let (number, value) = try cursor.next() {
            guard case .bytes(let inner) = value else { continue }
            switch number {
            case 2...6:
                binding.verb = ["GET", "PUT", "POST", "DELETE", "PATCH"][Int(number) - 2]
                binding.template = try inner.text()
            case 7: binding.body = try inner.text()
            case 8: binding.unsupported = "custom HTTP methods are not supported"
            case 11: additional.append(inner)
            case 12: binding.unsupported = "response_body is not supported"
            default: break
            }
        }
        bindings.append(binding)
        guard depth == 0 || additional.isEmpty else { throw .tooDeep }
        for rule in additional { try httpRule(rule, into: &bindings, depth: depth + 1) }
    }

    private static func rules(_ options: WireCursor, into rules: inout FieldRules) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch value {
            case .varint(let raw):
                let small = UInt32(truncatingIfNeeded: raw)
                switch number {
                case 1: rules.required = raw != 0
                case 2: rules.minLength = small
                case 3: rules.maxLength = small
                case 4: rules.minBytes = small
                case 5: rules.maxBytes = small
                case 6: rules.atLeast = Int64(bitPattern: raw)
                case 7: rules.atMost = Int64(bitPattern: raw)
                case 10: rules.minItems = small
                case 11: rules.maxItems = small
                case 12: rules.format = FieldRules.Format(rawValue: Int32(truncatingIfNeeded: raw)) ?? .unspecified
                case 13: rules.secret = raw != 0
                case 16 where raw != 0: (rules.format, rules.isTyped) = (.date, true)
                default: break
                }
            case .bytes(let inner):
                if number == 9 { rules.oneOf.append(try inner.text()) }
                if number == 14 { rules.example = try inner.text() }
                if number == 15 { (rules.format, rules.isTyped) = (.uuid, true) }
            default: break
            }
        }
    }

    private static func shown(_ options: WireCursor, into rules: inout ShownRules) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (1, .varint(let raw)): rules.required = raw != 0
            case (2, .bytes(let text)): rules.pattern = try text.text()
            case (3, .bytes(let text)): rules.oneOf.append(try text.text())
            default: break
            }
        }
    }

    private static func policy(_ options: WireCursor, into policy: inout MethodPolicy) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (1, .varint(let raw)):
                // An unknown level of a newer options file must not open a method: internal is the closed one.
                policy.auth = raw == 0 ? .user : MethodPolicy.Auth(rawValue: Int32(truncatingIfNeeded: raw)) ?? .internal
            case (2, .varint(let raw)): policy.idempotent = raw != 0
            case (3, .varint(let raw)): policy.timeoutMilliseconds = raw == 0 ? 10_000 : UInt32(clamping: raw)
            case (4, .bytes(let inner)):
                var upload = MethodPolicy.Upload()
                try self.upload(inner, into: &upload)
                policy.uploads.append(upload)
            case (5, .bytes(let inner)):
                var body = policy.body ?? .init()
                try self.body(inner, into: &body)
                policy.body = body
            case (6, .bytes(let inner)):
                var stream = policy.stream ?? .init()
                try self.stream(inner, into: &stream)
                policy.stream = stream
            case (7, .varint(let raw)): policy.successStatus = raw == 0 ? 200 : UInt32(clamping: raw)
            case (8, .varint(let raw)): policy.bare = raw != 0
            case (9, .varint(let raw)): policy.cost = max(1, UInt32(clamping: raw))
            case (10, .bytes(let text)): policy.reasons.append(try text.text())
            case (12, .bytes(let inner)):
                var raw = policy.raw ?? .init()
                try self.raw(inner, into: &raw)
                policy.raw = raw
            case (13, .varint(let raw)): policy.unlimited = raw != 0
            case (14, .varint(let raw)): policy.exact = raw != 0
            case (15, .bytes(let text)): policy.acceptedField = try text.text()
            default: break
            }
        }
    }

    private static func stream(_ options: WireCursor, into stream: inout MethodPolicy.Stream) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (1, .bytes(let text)): stream.subject = try text.text()
            case (2, .bytes(let text)): stream.renew = try text.text()
            case (3, .bytes(var inner)):
                var kind = MethodPolicy.Stream.Kind()
                while let (number, value) = try inner.next() {
                    guard case .bytes(let text) = value else { continue }
                    if number == 1 { kind.name = try text.text() }
                    if number == 2 { kind.data = try text.text() }
                }
                stream.kinds.append(kind)
            default: break
            }
        }
    }

    private static func raw(_ options: WireCursor, into raw: inout MethodPolicy.Raw) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (1, .bytes(let text)): raw.field = try text.text()
            case (2, .varint(let bytes)): raw.maxBytes = bytes
            case (3, .bytes(var inner)):
                var header = MethodPolicy.Raw.Header()
                while let (number, value) = try inner.next() {
                    guard case .bytes(let text) = value else { continue }
                    if number == 1 { header.name = try text.text().lowercased() }
                    if number == 2 { header.field = try text.text() }
                }
                raw.headers.append(header)
            default: break
            }
        }
    }

    private static func upload(_ options: WireCursor, into upload: inout MethodPolicy.Upload) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            switch (number, value) {
            case (1, .bytes(let text)): upload.part = try text.text()
            case (2, .bytes(let text)): upload.field = try text.text()
            case (3, .varint(let raw)): upload.maxBytes = raw
            case (4, .bytes(let text)): upload.instead = try text.text()
            default: break
            }
        }
    }

    private static func body(_ options: WireCursor, into body: inout MethodPolicy.Body) throws(WireProblem) {
        var cursor = options
        while let (number, value) = try cursor.next() {
            guard case .bytes(let text) = value else { continue }
            switch number {
            case 1: body.field = try text.text()
            case 2: body.contentTypeField = try text.text()
            case 3: body.contentType = try text.text()
            case 4: body.redirectField = try text.text()
            case 5: body.blobField = try text.text()
            case 6: body.statusField = try text.text()
            case 7:
                let declared = try text.text()
                if let header = MethodPolicy.Body.Header(declared) {
                    body.headers.append(header)
                } else {
                    body.refusedHeaders.append(declared)
                }
            default: break
            }
        }
    }
}

extension WireCursor {
    /// The rest of the bytes as text.
    func text() throws(WireProblem) -> String {
        guard ByteText.isUTF8(base + position, count) else { throw .invalidUTF8 }
        return String(decoding: UnsafeBufferPointer(start: base + position, count: count), as: UTF8.self)
    }
}
