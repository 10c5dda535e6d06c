/// Why a reply could not be turned into JSON: the service sent bytes that do not fit its own descriptor. For the log, not for clients.
public struct ReplyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with the bytes.
    public let problem: String

    public var description: String { "malformed reply: \(problem)" }
}

/// What goes out for a reply.
public enum ReplyOutput: Hashable, Sendable {
    /// A JSON document.
    case json([UInt8])
    /// Bytes as they are, with their media type, and the status when the reply says one (`body` policy).
    case raw([UInt8], contentType: String, status: Int = 0)
    /// The blob with this key (`body` policy).
    case blob(String)
    /// A redirect (302) to a URL (`body` policy).
    case redirect(String)
}

/// Turns the protobuf bytes of one method's reply into what goes out over HTTP (D2, PF-1).
///
/// `{"success":true,"data":{…},"meta":{…,"request_id":"…"}}`. A reply's own `message` (string) and `meta` (message) fields are lifted
/// beside `data`; the lifted `meta` has all its fields also when the service left it unset. In `data`: fields in declaration order,
/// scalars always present, absent messages and `optional`s `null`, enums as lower-case names (a number when the name is unknown),
/// 64-bit integers as numbers, times RFC 3339 in UTC with as few digits as lose nothing, bytes base64, NaN and infinity `null`.
public struct ReplyTranscoder: Sendable {
    enum Form: Sendable {
        case envelope
        case bare
        case body(BodyFields)
    }

    /// Positions within the reply of what makes a reply that is not JSON.
    struct BodyFields: Sendable {
        var content: Int
        var contentType: Int?
        var otherwiseContentType: String
        var redirect: Int?
        var blob: Int?
        var status: Int?
    }

    let schema: Schema
    let message: Int32
    let form: Form
    /// Positions within the reply of the fields that are lifted beside `data`; -1 when there are none.
    let metaField: Int
    let messageField: Int
    /// Position of the field that is the data; -1 when the whole reply is (`exact`).
    let dataField: Int
    /// Whether the lifted meta has a `request_id` of its own.
    let metaHasRequestID: Bool
    /// Whether `meta` says how long it took (`exact`).
    let isExact: Bool

    init(schema: Schema, message: Int32, form: Form, isExact: Bool = false) {
        self.schema = schema
        self.isExact = isExact
        self.message = message
        self.form = form
        let tables = schema.tables
        let table = tables.messages[Int(message)]
        var (meta, text, data, hasID) = (-1, -1, -1, false)
        if case .envelope = form {
            for index in 0..<Int(table.fieldCount) {
                let field = tables.fields[Int(table.firstField) + index]
                let isSingle = field.shape == .scalar || field.shape == .optional
                if isSingle, field.kind == .message, tables.name(field) == "meta" {
                    meta = index
                    hasID = tables.path("request_id", in: Int(field.typeIndex)) != nil
                }
                if isSingle, field.kind == .string, tables.name(field) == "message" { text = index }
                if isExact, isSingle, field.kind == .message, tables.name(field) == "data" { data = index }
            }
        }
        self.metaField = meta
        self.messageField = text
        self.dataField = data
        self.metaHasRequestID = hasID
    }

    /// A transcoder for a message, with the envelope or without.
    public init?(_ set: DescriptorSet, message name: String, bare: Bool) {
        guard let index = set.index(ofMessage: name) else { return nil }
        self.init(schema: set.schema, message: Int32(index), form: bare ? .bare : .envelope)
    }

    /// What goes out for a reply.
    ///
    /// - Parameters:
    ///   - reply: the protobuf bytes from the bus, below 2 GiB.
    ///   - requestID: becomes `meta.request_id`.
    ///   - took: milliseconds so far; `meta.request_time` of an exact reply.
    /// - Throws: `ReplyError` when the bytes are malformed.
    public func transcode(_ reply: [UInt8], requestID: String, took: Int64 = 0) throws(ReplyError) -> ReplyOutput {
        let result: Result<ReplyOutput, ReplyError> = reply.withUnsafeBufferPointer { buffer in
            guard buffer.count < Int32.max else { return .failure(ReplyError(problem: "larger than 2 GiB")) }
            let base = buffer.baseAddress ?? schema.tables.pool
            do throws(WireProblem) {
                return .success(try transcode(WireCursor(base: base, position: 0, end: buffer.count), requestID, took))
            } catch { return .failure(ReplyError(problem: error.rawValue)) }
        }
        return try result.get()
    }

    private func transcode(_ cursor: WireCursor, _ requestID: String, _ took: Int64) throws(WireProblem) -> ReplyOutput {
        var encoder = ReplyEncoder(tables: schema.tables, capacity: cursor.count * 3 + 256)
        switch form {
        case .envelope: try envelope(&encoder, cursor, requestID, took)
        case .bare: try encoder.message(message, cursor)
        case .body(let fields): return try body(fields, cursor)
        }
        return .json(encoder.out.bytes())
    }

    private func envelope(
        _ encoder: inout ReplyEncoder,
        _ cursor: WireCursor,
        _ requestID: String,
        _ took: Int64
    ) throws(WireProblem) {
        let opened = try encoder.open(message, cursor)
        encoder.out.append("{\"success\":true,\"data\":")
        if dataField >= 0 { try encoder.messageOrEmpty(dataField, of: opened) } else { try data(&encoder, opened) }
        if messageField >= 0 { try encoder.field(messageField, of: opened, skippingComma: 0) }
        encoder.out.append(",\"meta\":")
        var addsComma = false
        if metaField >= 0 {
            try encoder.messageOrEmpty(metaField, of: opened)
            // Reopened to take one more member.
            encoder.out.count -= 1
            addsComma = encoder.out.base[encoder.out.count - 1] != UInt8(ascii: "{")
        } else {
            encoder.out.append(UInt8(ascii: "{"))
        }
        if !metaHasRequestID {
            if addsComma { encoder.out.append(UInt8(ascii: ",")) }
            encoder.out.append("\"request_id\":")
            try encoder.string(requestID)
            addsComma = true
        }
        if isExact {
            if addsComma { encoder.out.append(UInt8(ascii: ",")) }
            encoder.out.append("\"request_time\":")
            encoder.out.append(Array(String(took).utf8))
        }
        encoder.out.append("}}")
        encoder.close(opened)
    }

    /// All of the reply that is not lifted.
    private func data(_ encoder: inout ReplyEncoder, _ opened: ReplyEncoder.Opened) throws(WireProblem) {
        encoder.out.append(UInt8(ascii: "{"))
        var skipsComma = 1
        for index in 0..<Int(opened.message.fieldCount) where index != metaField && index != messageField {
            try encoder.field(index, of: opened, skippingComma: skipsComma)
            skipsComma = 0
        }
        encoder.out.append(UInt8(ascii: "}"))
    }

    private func body(_ fields: BodyFields, _ cursor: WireCursor) throws(WireProblem) -> ReplyOutput {
        let table = schema.tables.messages[Int(message)]
        func text(_ field: Int?) throws(WireProblem) -> String {
            guard let field else { return "" }
            return String(decoding: try Self.content(cursor, table, field, schema.tables), as: UTF8.self)
        }
        let url = try text(fields.redirect)
        if !url.isEmpty { return .redirect(url) }
        let key = try text(fields.blob)
        if !key.isEmpty { return .blob(key) }
        let type = try text(fields.contentType)
        return .raw(
            try Self.content(cursor, table, fields.content, schema.tables),
            contentType: type.isEmpty ? fields.otherwiseContentType : type,
            status: try fields.status.map { field throws(WireProblem) in try Self.number(cursor, table, field, schema.tables) }
                ?? 0
        )
    }

    /// The value of an integer field; 0 when it is absent.
    private static func number(
        _ message: WireCursor,
        _ table: MessageTable,
        _ index: Int,
        _ tables: SchemaTables
    ) throws(WireProblem) -> Int {
        let number = tables.fields[Int(table.firstField) + index].number
        var cursor = message
        var result = 0
        while let (found, value) = try cursor.next() {
            if found == number, case .varint(let raw) = value { result = Int(Int32(truncatingIfNeeded: raw)) }
        }
        return result
    }

    /// The content of a string or bytes field; empty when it is absent.
    private static func content(
        _ message: WireCursor,
        _ table: MessageTable,
        _ index: Int,
        _ tables: SchemaTables
    ) throws(WireProblem) -> [UInt8] {
        let number = tables.fields[Int(table.firstField) + index].number
        var cursor = message
        var result: [UInt8] = []
        while let (found, value) = try cursor.next() {
            guard found == number, case .bytes(let content) = value else { continue }
            result = Array(UnsafeBufferPointer(start: content.base + content.position, count: content.count))
        }
        return result
    }
}

extension ReplyEncoder {
    /// A submessage's object; that of an empty one when it is absent.
    mutating func messageOrEmpty(_ index: Int, of opened: Opened) throws(WireProblem) {
        let field = self.field(index, of: opened)
        let mark = out.count
        try fieldValue(index, field, of: opened)
        if out.base[mark] != UInt8(ascii: "{") {
            out.count = mark
            try empty(field)
        }
    }

    mutating func string(_ text: String) throws(WireProblem) {
        var text = text
        let problem: WireProblem? = text.withUTF8 { buffer in
            do throws(WireProblem) {
                guard let base = buffer.baseAddress else {
                    out.append("\"\"")
                    return nil
                }
                try string(base, buffer.count)
                return nil
            } catch { return error }
        }
        if let problem { throw problem }
    }
}
