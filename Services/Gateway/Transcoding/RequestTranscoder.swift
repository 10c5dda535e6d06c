public import Kernel

/// Facts about an uploaded file that lies in the blob store (D4), for the request field of type `streaksnap.common.v1.Blob`.
public struct BlobReference: Hashable, Sendable {
    /// Key in the blob store.
    public var key: String
    /// Bytes.
    public var size: UInt64
    /// SHA-256, lower-case hex.
    public var sha256: String
    /// The client's file name: a hint, never believed.
    public var fileName: String
    /// The client's media type: a hint, never believed.
    public var contentType: String

    /// A reference to a stored blob.
    public init(key: String, size: UInt64, sha256: String, fileName: String, contentType: String) {
        self.key = key
        self.size = size
        self.sha256 = sha256
        self.fileName = fileName
        self.contentType = contentType
    }
}

/// Turns the parts of an HTTP request of one route into the protobuf bytes of its request message (D2).
///
/// What goes where follows `google.api.http`: path variables first; the body as the binding's `body` says (`*` is everything that is
/// not in the path, a name is that field, nothing is nothing); all other fields from the query, which with `*` has none left.
/// JSON: proto's snake_case names; 64-bit integers as numbers or digits in a string; enums as lower-case names without prefix;
/// timestamps RFC 3339; bytes base64 of either alphabet; `null` means absent.
///
/// Every wrong field is named in the problems of what was read (up to 50); JSON that cannot be read gives one detail with an empty field
/// and the byte offset.
public struct RequestTranscoder: Sendable {
    /// A path variable and the fields it stands for.
    struct Variable: Sendable {
        var path: [Int]
        var name: String
    }

    /// What the body is read into.
    enum Body: Sendable, Equatable {
        case none
        case message
        case field(Int)
    }

    /// A header and the field that it fills.
    struct Header: Sendable {
        var name: String
        var field: Int
    }

    /// Largest JSON body that is read, in bytes.
    public static let maximumBodyBytes = 1 << 20

    let schema: Schema
    let message: Int
    let variables: [Variable]
    let body: Body
    /// The request's fields that take uploaded blobs, in the order of the method's uploads.
    let blobFields: [Int]
    /// Headers that fill fields of the request.
    let headers: [Header]
    /// Whether query parameters that are not of the request count for nothing, instead of being an error.
    let ignoresUnknownQuery: Bool

    init(
        schema: Schema,
        message: Int,
        variables: [Variable],
        body: Body,
        blobFields: [Int],
        headers: [Header] = [],
        ignoresUnknownQuery: Bool = false
    ) {
        self.schema = schema
        self.message = message
        self.variables = variables
        self.body = body
        self.blobFields = blobFields
        self.headers = headers
        self.ignoresUnknownQuery = ignoresUnknownQuery
    }

    /// A transcoder that reads a whole JSON body into a message, as a route with `body: "*"` and no variables does.
    public init?(_ set: DescriptorSet, message name: String) {
        guard let index = set.index(ofMessage: name) else { return nil }
        self.init(schema: set.schema, message: index, variables: [], body: .message, blobFields: [])
    }

    /// The request message of a JSON (or empty) body.
    ///
    /// - Parameters: as of `read`.
    /// - Throws: `VALIDATION_ERROR` with one detail per wrong field.
    public func transcode(body: [UInt8], path: PathValues = .none, query: String = "") throws(ServiceError) -> [UInt8] {
        try read(body: body, path: path, query: query).request()
    }

    /// What a JSON (or empty) body says.
    ///
    /// - Parameters:
    ///   - body: UTF-8 JSON of at most `maximumBodyBytes`; empty counts as `{}`.
    ///   - path: the values the route table found for the template's variables.
    ///   - query: what follows `?`, undecoded; empty when there is none.
    /// - Throws: `VALIDATION_ERROR` for what cannot be read at all.
    public func read(body: [UInt8], path: PathValues = .none, query: String = "") throws(ServiceError) -> RequestReading {
        try body.withUnsafeBufferPointerTyped { (buffer) throws(ServiceError) in
            try Self.twice { (standIns) throws(ServiceError) in
                try read(body: buffer, path: path, query: query, standIns)
            }
        }
    }

    /// Reads a request once more with other stand-ins, when there are any.
    private static func twice(_ read: (ValueWriter.StandIns) throws(ServiceError) -> RequestReading) throws(ServiceError)
        -> RequestReading
    {
        var reading = try read(.zeros)
        if reading.mayHideProblems { reading.other = try read(.different(1)).message }
        return reading
    }

    private func read(
        body: UnsafeBufferPointer<UInt8>,
        path: PathValues,
        query: String,
        _ standIns: ValueWriter.StandIns
    ) throws(ServiceError) -> RequestReading {
        guard body.count <= Self.maximumBodyBytes else {
            throw .validation(field: "", "The body is larger than \(Self.maximumBodyBytes) bytes.")
        }
        var encoder = RequestEncoder(tables: schema.tables, body: body, standIns: standIns)
        encoder.files = blobFields.map { $0 - Int(schema.tables.messages[message].firstField) }
        switch self.body {
        case .message: encoder.root(message: message, taken: takenFields)
        case .field(let index): encoder.root(field: index)
        case .none:
            // An empty object is what many clients send when they have nothing to say.
            let allFields = Array(0..<Int(schema.tables.messages[message].fieldCount))
            if !body.isEmpty { encoder.rootOfNothing(message: message, fields: allFields) }
        }
        let fields = try pathFields(path) + queryFields(query, &encoder)
        return finish(&encoder, fields, splitsLists: false)
    }

    /// What a request says whose body is not read (`raw`).
    ///
    /// - Parameters:
    ///   - body: goes into its field as it is.
    ///   - header: the value of a header, whose name is in lower case; nil when the request has none.
    ///   - path: the values the route table found for the template's variables.
    ///   - query: what follows `?`, undecoded; empty when there is none.
    /// - Throws: `VALIDATION_ERROR` for what cannot be read at all.
    public func read(
        raw body: [UInt8],
        header: (String) -> String?,
        path: PathValues = .none,
        query: String = ""
    ) throws(ServiceError) -> RequestReading {
        var encoder = RequestEncoder(tables: schema.tables, body: UnsafeBufferPointer(start: nil, count: 0))
        let given = headers.compactMap { wanted in
            header(wanted.name).map { TextField(path: [wanted.field], name: wanted.name, value: Array($0.utf8)) }
        }
        if case .field(let index) = self.body {
            body.withUnsafeBufferPointer { encoder.values.delimited(schema.tables.fields[index], $0, .plain) }
        }
        let fields = try pathFields(path) + given + queryFields(query, &encoder)
        return finish(&encoder, fields, splitsLists: false)
    }

    private func queryFields(_ query: String, _ encoder: inout RequestEncoder) throws(ServiceError) -> [TextField] {
        var fields: [TextField] = []
        for (name, value) in try pairs(query) {
            switch queryField(name) {
            case .field(let path):
                if let rival = bodyRival(of: path), !encoder.values.out.isEmpty {
                    encoder.report(name, "cannot be given together with \(rival)")
                }
                fields.append(TextField(path: path, name: name, value: value))
            case .wrong where ignoresUnknownQuery, .unknown where ignoresUnknownQuery: break
            case .wrong(let problem): encoder.report(ByteText.shown(name.utf8), problem)
            case .unknown(let problem): encoder.report(ByteText.shown(name.utf8), problem, name, among: givenNames(), orAll: true)
            }
        }
        return fields
    }

    /// What a multipart form says (D4).
    ///
    /// Repeated fields take repetition and comma lists. A value's field may be nested (`place.latitude`).
    ///
    /// - Parameters:
    ///   - form: the parts other than the file, in order; at most 500.
    ///   - blob: the stored file; nil when the form had none.
    ///   - upload: which of the method's uploads it is.
    ///   - path: the values the route table found for the template's variables.
    /// - Throws: `VALIDATION_ERROR` for a form with too many fields.
    public func read(
        form: [(name: String, value: [UInt8])],
        blob: BlobReference?,
        upload: Int = 0,
        path: PathValues = .none
    ) throws(ServiceError) -> RequestReading {
        guard form.count <= QueryText.maximumCount else {
            throw .validation(field: "", "The form has more than \(QueryText.maximumCount) fields.")
        }
        return try Self.twice { (standIns) throws(ServiceError) in read(form, blob, upload, path, standIns) }
    }

    private func read(
        _ form: [(name: String, value: [UInt8])],
        _ blob: BlobReference?,
        _ upload: Int,
        _ path: PathValues,
        _ standIns: ValueWriter.StandIns
    ) -> RequestReading {
        let nothing = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        var encoder = RequestEncoder(tables: schema.tables, body: nothing, standIns: standIns)
        var fields = pathFields(path)
        for (name, value) in form {
            switch formField(name) {
            case .field(let path): fields.append(TextField(path: path, name: name, value: value))
            case .wrong(let problem): encoder.report(ByteText.shown(name.utf8), problem)
            case .unknown(let problem): encoder.report(ByteText.shown(name.utf8), problem, name, among: givenNames())
            }
        }
        if let blob, blobFields.indices.contains(upload) { fields += facts(of: blob, in: blobFields[upload]) }
        return finish(&encoder, fields, splitsLists: true)
    }

    private func finish(_ encoder: inout RequestEncoder, _ fields: [TextField], splitsLists: Bool) -> RequestReading {
        if !fields.isEmpty { encoder.write(fields, splitsLists: splitsLists) }
        return RequestReading(message: encoder.values.out.bytes(), problems: encoder.details, isWhole: encoder.isWhole)
    }
}

extension RequestTranscoder {
    /// What a parameter's name stands for.
    private enum Lookup {
        case field([Int])
        case wrong(String)
        case unknown(String)
    }

    /// Positions within the request of the fields that the path gives as a whole, and of uploaded blobs: a client that could write
    /// a key would get at other people's files.
    private var takenFields: [Int] {
        guard !variables.isEmpty || !blobFields.isEmpty else { return [] }
        let first = Int(schema.tables.messages[message].firstField)
        let whole = variables.filter { $0.path.count == 1 }.map { $0.path[0] - first }
        return whole + blobFields.map { $0 - first }
    }

    private func pathFields(_ values: PathValues) -> [TextField] {
        zip(variables, values.values).map { TextField(path: $0.path, name: $0.name, value: $1) }
    }

    private func pairs(_ query: String) throws(ServiceError) -> [(name: String, value: [UInt8])] {
        do { return try QueryText.pairs(query) } catch {
            // What was appended may be cut off in the middle.
            guard ignoresUnknownQuery else { throw error }
            return []
        }
    }

    private func queryField(_ name: String) -> Lookup {
        if body == .message { return .wrong("is not a known parameter: this route takes its fields from the body") }
        guard let path = schema.tables.path(name, in: message) else { return .unknown("is not a known parameter") }
        if case .field(let index) = body, path[0] == index { return .wrong("is given by the body") }
        if blobFields.contains(path[0]) { return .wrong("is the uploaded file") }
        if headers.contains(where: { $0.field == path[0] }) { return .wrong("is given by a header") }
        if variables.contains(where: { $0.path == path }) { return .wrong("is given by the path") }
        return textField(path)
    }

    /// The name of the body's field when it is in one oneof with a parameter's field.
    private func bodyRival(of path: [Int]) -> String? {
        guard case .field(let index) = body else { return nil }
        let field = schema.tables.fields[index]
        guard field.oneof >= 0, schema.tables.fields[path[0]].oneof == field.oneof else { return nil }
        return schema.tables.name(field)
    }

    private func formField(_ name: String) -> Lookup {
        guard let path = schema.tables.path(name, in: message) else { return .unknown("is not a known field") }
        if blobFields.contains(path[0]) { return .wrong("is the uploaded file, not a text field") }
        if variables.contains(where: { $0.path == path }) { return .wrong("is given by the path") }
        return textField(path)
    }

    /// The fields that a query or a form may have.
    private func givenNames() -> [String] {
        let table = schema.tables.messages[message]
        return schema.tables.names(table) { member in
            let index = Int(table.firstField) + member
            if case .field(index) = body { return false }
            if blobFields.contains(index) || headers.contains(where: { $0.field == index }) { return false }
            return !variables.contains { $0.path == [index] }
        }
    }

    private func textField(_ path: [Int]) -> Lookup {
        guard let last = path.last else { return .wrong("is not a known parameter") }
        let field = schema.tables.fields[last]
        return field.kind == .message ? .wrong("is an object; name one of its fields") : .field(path)
    }

    private func facts(of blob: BlobReference, in field: Int) -> [TextField] {
        let values = [
            ("key", blob.key), ("size", String(blob.size)), ("sha256", blob.sha256), ("file_name", blob.fileName),
            ("content_type", blob.contentType),
        ]
        return values.compactMap { name, value in
            let message = Int(schema.tables.fields[field].typeIndex)
            return schema.tables.path(name, in: message).map { path in
                TextField(
                    path: [field] + path,
                    name: "\(schema.tables.name(schema.tables.fields[field])).\(name)",
                    value: Array(value.utf8)
                )
            }
        }
    }
}

extension SchemaTables {
    /// The fields a dotted name stands for, from a message's own field down; nil when there is no such field.
    ///
    /// Only the last may be repeated: there is no saying which element a name beyond it would mean.
    func path(_ name: String, in message: Int) -> [Int]? {
        var path: [Int] = []
        var message = message
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 16 else { return nil }
        for (index, part) in parts.enumerated() {
            let bytes = Array(part.utf8)
            let found = bytes.withUnsafeBufferPointer { buffer in
                buffer.baseAddress.flatMap { field(messages[message], name: $0, buffer.count) }
            }
            guard let found else { return nil }
            let position = Int(messages[message].firstField) + found
            path.append(position)
            if index < parts.count - 1 {
                guard fields[position].kind == .message, fields[position].shape == .optional else { return nil }
                message = Int(fields[position].typeIndex)
            }
        }
        return path
    }
}

extension RequestEncoder {
    /// Reads a body where the route takes none: every member is a problem.
    mutating func rootOfNothing(message: Int, fields: [Int]) {
        let before = values.out.count
        root(message: message, taken: fields)
        values.out.count = before
    }
}

extension Array where Element == UInt8 {
    /// `withUnsafeBufferPointer` that keeps the type of a thrown error.
    func withUnsafeBufferPointerTyped<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(ServiceError) -> Result
    ) throws(ServiceError) -> Result {
        let result: Swift.Result<Result, ServiceError> = withUnsafeBufferPointer { buffer in
            do throws(ServiceError) { return .success(try body(buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
