public import Kernel

/// One HTTP route of one method: where it goes on the bus, who may use it, and how both directions are transcoded.
public final class Route: Sendable {
    /// `GET`, `PUT`, `POST`, `DELETE` or `PATCH`.
    public let verb: String
    /// The path template as annotated.
    public let template: String
    /// The service's name on the bus, `auth`.
    public let service: String
    /// `Register`.
    public let method: String
    /// `streaksnap.auth.v1.Auth`.
    public let protoService: String
    /// `rpc.auth.v1.Register`.
    public let subject: String
    /// Who may call it, its budget and the form of its reply.
    public let policy: MethodPolicy
    /// Full names of the request and reply messages.
    public let requestType: String
    public let replyType: String
    /// HTTP request → protobuf.
    public let request: RequestTranscoder
    /// Protobuf → HTTP reply.
    public let reply: ReplyTranscoder

    /// Whether an upload may be left out, so that the other fields may come as JSON.
    public let takesJSON: Bool
    /// Number of the reply's field that makes the status 202; nil without one.
    private let acceptedNumber: UInt32?

    let pattern: PathTemplate
    let descriptor: MethodDescriptor
    let binding: HTTPBinding
    let set: DescriptorSet

    /// Compiles one binding of a method.
    ///
    /// - Throws: `DescriptorError` naming the method and what contradicts its messages.
    init(
        _ binding: HTTPBinding,
        of method: MethodDescriptor,
        in service: ServiceDescriptor,
        on bus: BusName,
        set: DescriptorSet,
        rules: RouteRules
    ) throws(DescriptorError) {
        let element = "\(service.fullName).\(method.name)"
        func fail(_ problem: String) -> DescriptorError { DescriptorError(element: element, problem: problem) }
        if let unsupported = binding.unsupported { throw fail(unsupported) }
        guard !binding.verb.isEmpty else { throw fail("has an HTTP rule without a method and path") }
        let requestName = MethodDescriptor.bare(method.requestType)
        let replyName = MethodDescriptor.bare(method.replyType)
        guard let message = set.index(ofMessage: requestName), let replyMessage = set.index(ofMessage: replyName) else {
            throw fail("has a type that is not in the set")
        }
        do { self.pattern = try PathTemplate(binding.template) } catch { throw fail(error.problem) }
        guard !pattern.takesPathsOfOthers else { throw fail("has a wildcard where it would take the paths of others") }
        let tables = set.schema.tables
        var variables: [RequestTranscoder.Variable] = []
        for variable in pattern.variables {
            guard let path = tables.path(variable.fieldPath, in: message), let last = path.last,
                tables.fields[last].shape != .repeated, tables.fields[last].shape != .map, tables.fields[last].kind != .message
            else { throw fail("binds the path to \(variable.fieldPath), which is no single scalar field of \(requestName)") }
            try Self.checkLiteral(variable, pattern, tables.fields[last], tables, orElse: fail)
            variables.append(.init(path: path, name: variable.fieldPath))
        }
        let blobFields = try Self.blobFields(method, message, tables, orElse: fail)
        if variables.contains(where: { blobFields.contains($0.path[0]) }) {
            throw fail("binds the path to the uploaded file")
        }
        try Self.checkStream(method, binding, request: requestName, reply: replyName, in: set, on: bus, orElse: fail)
        let place = RouteRules.Place(service: bus.service, template: binding.template)
        let raw = try Self.rawFields(method, at: place, rules, message, variables, tables, orElse: fail)
        var body = try Self.body(binding, message, blobFields, tables, requestName, orElse: fail)
        if let raw { body = .field(raw.body) }
        self.request = RequestTranscoder(
            schema: set.schema,
            message: message,
            variables: variables,
            body: body,
            blobFields: blobFields,
            headers: raw?.headers ?? Self.streamFields(method, message, tables),
            ignoresUnknownQuery: method.policy.isPage
        )
        self.reply = ReplyTranscoder(
            schema: set.schema,
            message: Int32(replyMessage),
            form: try Self.form(method, replyMessage, tables, orElse: fail),
            isExact: method.policy.exact
        )
        self.acceptedNumber = try Self.acceptedNumber(method, replyMessage, tables, orElse: fail)
        self.verb = binding.verb
        self.template = binding.template
        self.service = bus.service
        self.method = method.name
        self.protoService = service.fullName
        self.subject = "rpc.\(bus.service).\(bus.version).\(method.name)"
        self.policy = method.policy
        self.requestType = requestName
        self.replyType = replyName
        self.descriptor = method
        self.takesJSON = !method.policy.uploads.contains { upload in
            set.message(named: requestName)?.fields.first { $0.name == upload.field }?.isRequiredInput ?? false
        }
        self.binding = binding
        self.set = set
    }

    /// The fields that the path gives.
    public var pathFields: [String] { pattern.variables.map(\.fieldPath) }

    /// What is wrong with a request in the order of its fields, each once; what is about none of them comes last.
    public func inOrder(_ details: [ServiceError.Detail]) -> [ServiceError.Detail] {
        let names = set.message(named: requestType)?.fields.map(\.name) ?? []
        let places = Dictionary(zip(names, names.indices)) { first, _ in first }
        func place(_ detail: ServiceError.Detail) -> Int {
            places[String(detail.field.prefix { $0 != "." && $0 != "[" })] ?? names.count
        }
        var known: Set<String> = []
        return details.filter { $0.field.isEmpty || known.insert($0.field).inserted }.enumerated()
            .sorted { (place($0.element), $0.offset) < (place($1.element), $1.offset) }.map(\.element)
    }

    /// The HTTP status of a success.
    ///
    /// - Parameter reply: the protobuf bytes from the bus.
    public func status(of reply: [UInt8]) -> Int {
        guard let acceptedNumber else { return Int(policy.successStatus) }
        let isAccepted = reply.withUnsafeBufferPointer { buffer -> Bool in
            guard let base = buffer.baseAddress else { return false }
            var cursor = WireCursor(base: base, position: 0, end: buffer.count)
            // Bytes that cannot be read are refused where they are transcoded.
            while let field = try? cursor.next() { if field.number == acceptedNumber { return true } }
            return false
        }
        return isAccepted ? 202 : Int(policy.successStatus)
    }

    /// The values a matched path gives to the variables.
    func pathValues(_ segments: [[UInt8]]) -> PathValues {
        if pattern.variables.isEmpty { return .none }
        return PathValues(
            values: pattern.variables.map { variable in
                let isRest = pattern.segments[variable.segments.upperBound - 1] == .rest
                let end = isRest ? segments.count : variable.segments.upperBound
                let parts = segments[min(variable.segments.lowerBound, end)..<end]
                return Array(parts.joined(separator: [UInt8(ascii: "/")]))
            }
        )
    }
}

extension Route {
    private static func body(
        _ binding: HTTPBinding,
        _ message: Int,
        _ blobFields: [Int],
        _ tables: SchemaTables,
        _ requestName: String,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) -> RequestTranscoder.Body {
        if binding.body.isEmpty { return .none }
        if binding.body == "*" { return .message }
        guard let path = tables.path(binding.body, in: message), path.count == 1 else {
            throw fail("takes its body into \(binding.body), which is no field of \(requestName)")
        }
        guard !blobFields.contains(path[0]) else { throw fail("takes its body into the uploaded file") }
        return .field(path[0])
    }

    /// A literal that a variable binds must be a value of its field: `{action=accept}` of an enum without `accept` could never work.
    private static func checkLiteral(
        _ variable: PathTemplate.Variable,
        _ pattern: PathTemplate,
        _ field: FieldTable,
        _ tables: SchemaTables,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) {
        guard variable.segments.count == 1, case .literal(let text) = pattern.segments[variable.segments.lowerBound] else {
            return
        }
        var writer = ValueWriter(tables: tables, capacity: 64)
        let fits = text.withUnsafeBufferPointer { writer.text(field, $0, .present) }
        guard fits else { throw fail("binds \(variable.fieldPath) to a literal that it cannot hold") }
    }

    private static func blobFields(
        _ method: MethodDescriptor,
        _ message: Int,
        _ tables: SchemaTables,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) -> [Int] {
        var found: [Int] = []
        for upload in method.policy.uploads { found.append(try blobField(upload, message, tables, orElse: fail)) }
        return found
    }

    private static func blobField(
        _ upload: MethodPolicy.Upload,
        _ message: Int,
        _ tables: SchemaTables,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) -> Int {
        guard let path = tables.path(upload.field, in: message), path.count == 1, tables.fields[path[0]].kind == .message,
            tables.fields[path[0]].shape == .optional
        else { throw fail("uploads into \(upload.field), which is no message field of its request") }
        let blob = Int(tables.fields[path[0]].typeIndex)
        for (name, kind) in [("key", FieldKind.string), ("size", .uint64), ("sha256", .string)] {
            guard let inner = tables.path(name, in: blob), tables.fields[inner[0]].kind == kind else {
                throw fail("uploads into \(upload.field), which has no field \(name) as a Blob has")
            }
        }
        return path[0]
    }

    private static func acceptedNumber(
        _ method: MethodDescriptor,
        _ message: Int,
        _ tables: SchemaTables,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) -> UInt32? {
        let name = method.policy.acceptedField
        if name.isEmpty { return nil }
        guard let path = tables.path(name, in: message), path.count == 1, tables.fields[path[0]].shape == .optional else {
            throw fail("is accepted by its field \(name), which is no optional field of its reply")
        }
        return tables.fields[path[0]].number
    }

    private static func form(
        _ method: MethodDescriptor,
        _ message: Int,
        _ tables: SchemaTables,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) -> ReplyTranscoder.Form {
        guard let body = method.policy.body else { return method.policy.bare ? .bare : .envelope }
        if let refused = body.refusedHeaders.first {
            throw fail("answers with \(ByteText.shown(refused.utf8)), which is no header it may send")
        }
        func position(_ name: String, _ kinds: Set<FieldKind>) throws(DescriptorError) -> Int {
            guard let path = tables.path(name, in: message), path.count == 1,
                tables.fields[path[0]].shape == .scalar || tables.fields[path[0]].shape == .optional,
                kinds.contains(tables.fields[path[0]].kind)
            else {
                let wanted = kinds.map { "\($0)" }.sorted().joined(separator: " or ")
                throw fail("answers with its field \(name), which is no \(wanted) field")
            }
            return path[0] - Int(tables.messages[message].firstField)
        }
        func named(_ name: String, _ kind: FieldKind) throws(DescriptorError) -> Int? {
            name.isEmpty ? nil : try position(name, [kind])
        }
        return .body(
            ReplyTranscoder.BodyFields(
                content: try position(body.field, [.string, .bytes]),
                contentType: try named(body.contentTypeField, .string),
                otherwiseContentType: body.contentType.isEmpty ? "application/octet-stream" : body.contentType,
                redirect: try named(body.redirectField, .string),
                blob: try named(body.blobField, .string),
                status: try named(body.statusField, .int32)
            )
        )
    }
}

/// A service's name and version on the bus, from its proto package.
struct BusName: Hashable, Sendable {
    var service: String
    var version: String

    /// `streaksnap.<service>.v<major>`; nil for any other package.
    init?(package: String) {
        let parts = package.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "streaksnap", !parts[1].isEmpty, parts[2].first == "v", parts[2].utf8.count <= 4,
            parts[2].dropFirst().utf8.first.map({ (49...57).contains($0) }) == true,
            parts[2].dropFirst().utf8.allSatisfy({ (48...57).contains($0) }),
            parts[1].utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 95 })
        else { return nil }
        self.service = String(parts[1])
        self.version = String(parts[2])
    }
}
