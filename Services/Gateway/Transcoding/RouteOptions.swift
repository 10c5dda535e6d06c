// What the options `raw` and `stream` ask of a method, checked when its descriptor is loaded.
extension Route {
    /// Most bytes of a body that is not read: one message on the bus, with room for the other fields.
    static let mostRawBytes: UInt64 = 900 << 10

    /// Positions of the field that takes the body, and of those that headers fill; nil for a method without `raw`.
    static func rawFields(
        _ method: MethodDescriptor,
        at place: RouteRules.Place,
        _ rules: RouteRules,
        _ message: Int,
        _ variables: [RequestTranscoder.Variable],
        _ tables: SchemaTables,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) -> (body: Int, headers: [RequestTranscoder.Header])? {
        guard let raw = method.policy.raw else { return nil }
        guard method.policy.uploads.isEmpty, method.policy.stream == nil else {
            throw fail("takes its body unread and is an upload or a stream besides")
        }
        guard (1...mostRawBytes).contains(raw.maxBytes) else {
            throw fail("takes a body of at most \(raw.maxBytes) bytes; it may be from 1 to \(mostRawBytes)")
        }
        func position(_ name: String, _ kind: FieldKind) throws(DescriptorError) -> Int {
            guard let path = tables.path(name, in: message), path.count == 1, tables.fields[path[0]].kind == kind,
                tables.fields[path[0]].shape == .scalar, !variables.contains(where: { $0.path == path })
            else { throw fail("fills its field \(name), which is no \(kind) field of its own") }
            return path[0]
        }
        let body = try position(raw.field, .bytes)
        var headers: [RequestTranscoder.Header] = []
        for header in raw.headers {
            let isToken = header.name.utf8.allSatisfy {
                (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 95
            }
            guard isToken, !header.name.isEmpty else { throw fail("takes a header “\(header.name)”, which is no header") }
            if let problem = rules.problem(ofHeader: header.name, at: place, for: method.policy.auth) { throw fail(problem) }
            let field = try position(header.field, .string)
            guard !headers.contains(where: { $0.field == field }) else { throw fail("fills \(header.field) by two headers") }
            headers.append(RequestTranscoder.Header(name: header.name, field: field))
        }
        return (body, headers)
    }

    /// A stream is opened by GET, by a user, and is of a subject that only its service publishes.
    static func checkStream(
        _ method: MethodDescriptor,
        _ binding: HTTPBinding,
        request: String,
        reply: String,
        in set: DescriptorSet,
        on bus: BusName,
        orElse fail: (String) -> DescriptorError
    ) throws(DescriptorError) {
        guard let stream = method.policy.stream else { return }
        guard binding.verb == "GET", !binding.template.contains("{") else {
            throw fail("is a stream, which has a GET without parameters")
        }
        guard request == StreamContract.request, reply == StreamContract.page else {
            throw fail("is a stream, which takes \(StreamContract.request) and gives \(StreamContract.page)")
        }
        guard stream.subject == "live.\(bus.service).{user_id}" else {
            throw fail("is a stream of \(stream.subject); it may be of live.\(bus.service).{user_id}")
        }
        guard !stream.renew.isEmpty, stream.renew.utf8.allSatisfy({ (65...90).contains($0) || (97...122).contains($0) }) else {
            throw fail("is a stream without a method that renews its leases")
        }
        guard [.guest, .user, .admin].contains(method.policy.auth), method.policy.idempotent else {
            throw fail("is a stream, which is for signed-in callers and idempotent")
        }
        for kind in stream.kinds where kind.name.isEmpty || set.message(named: kind.data) == nil {
            throw fail("is a stream with events “\(kind.name)” of \(kind.data), which is no message")
        }
    }

    /// The fields of a stream's request, which only the gateway fills; none for another method.
    static func streamFields(_ method: MethodDescriptor, _ message: Int, _ tables: SchemaTables) -> [RequestTranscoder.Header] {
        guard method.policy.stream != nil else { return [] }
        return ["last_event_id", "lease_id"].compactMap { name in
            tables.path(name, in: message).map { RequestTranscoder.Header(name: "last-event-id", field: $0[0]) }
        }
    }

    /// Where leases of this stream are renewed; nil for a route that is none.
    public var renewal: String? {
        guard let stream = policy.stream else { return nil }
        return subject.split(separator: ".").dropLast().joined(separator: ".") + "." + stream.renew
    }

    /// The subject of a caller's events; nil for a route that is no stream.
    public func liveSubject(of user: String) -> String? { policy.stream.map { _ in "live.\(service).\(user)" } }
}
