internal import BlobStore
internal import Bus
internal import HTTPServer
internal import Kernel
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Runtime
internal import Transcoding

/// The way of every HTTP request: the gateway's own few routes, or match → authenticate → transcode → bus → transcode (D2).
///
/// A class: as a value each use of it would count references to all its parts.
final class GatewayResponder: Sendable {
    let catalog: ServiceCatalog
    let authenticator: Authenticator
    let bus: BusConnection
    let own: OwnRoutes
    let uploads: UploadReceiver
    let limiter: RequestLimiter
    let ids: any IDSource
    let logger: Logger
    let metrics: GatewayMetrics
    let tracer: Tracer
    let addresses: ClientAddresses
    let limits: RateLimits
    let crossOrigin: CrossOrigin
    /// Of pages and files of services.
    let contentPolicy: ContentPolicy
    let bodyTimeout: Duration
    let streams: StreamHub

    init(
        catalog: ServiceCatalog,
        authenticator: Authenticator,
        bus: BusConnection,
        own: OwnRoutes,
        uploads: UploadReceiver,
        limiter: RequestLimiter,
        ids: any IDSource,
        logger: Logger,
        metrics: GatewayMetrics,
        tracer: Tracer,
        addresses: ClientAddresses,
        limits: RateLimits,
        crossOrigin: CrossOrigin,
        contentPolicy: ContentPolicy,
        bodyTimeout: Duration,
        streams: StreamHub
    ) {
        self.catalog = catalog
        self.authenticator = authenticator
        self.bus = bus
        self.own = own
        self.uploads = uploads
        self.limiter = limiter
        self.ids = ids
        self.logger = logger
        self.metrics = metrics
        self.tracer = tracer
        self.addresses = addresses
        self.limits = limits
        self.crossOrigin = crossOrigin
        self.contentPolicy = contentPolicy
        self.bodyTimeout = bodyTimeout
        self.streams = streams
    }

    /// How a request is answered, whose body is not there yet.
    func answer(to request: HTTPRequest) -> HTTPAnswer {
        let match = catalog.routes.match(method: request.method.rawValue, path: request.path)
        return HTTPAnswer(isQuick: Self.isQuick(request, match)) { [self] request in await respond(to: request, match) }
    }

    /// Whether a request is small and reaches an RPC that takes JSON, and answers with JSON or a stream of events.
    private static func isQuick(_ request: HTTPRequest, _ match: RouteMatch) -> Bool {
        guard request.method != .HEAD, case .found(let route, _) = match else { return false }
        let (policy, headers) = (route.policy, request.headers)
        guard policy.uploads.isEmpty, policy.raw == nil, policy.body == nil, !headers.contains(name: "Expect"),
            !headers.contains(name: "Transfer-Encoding"), !headers.contains(name: "Content-Encoding")
        else { return false }
        return headers.first(name: "Content-Length").map { Int($0) ?? .max } ?? 0 <= mostQuickBytes
    }

    /// Bodies up to here are collected on the event loop.
    private static let mostQuickBytes = 16 << 10

    private func respond(to request: HTTPRequest, _ match: RouteMatch) async -> HTTPResponse {
        let peer = request.remoteAddress?.ip
        let client = addresses.client(peer: peer, forwardedFor: request.headers["X-Forwarded-For"])
        var course = Course(client: client, match: match, isWhole: request.body.isWhole || !request.hasBody)
        var response = await reply(to: request, &course)
        response.forbidStoring(to: request, of: course.route)
        // A browser takes no reply for anything but what its type says.
        response.headers[field: "X-Content-Type-Options"] = "nosniff"
        crossOrigin.addHeaders(to: &response.headers, for: request.headers[field: "Origin"])
        return response
    }

    private func reply(to request: HTTPRequest, _ course: inout Course) async -> HTTPResponse {
        let exchange = Exchange(request, ids: ids, tracer: tracer)
        let started = ContinuousClock.now
        course.place = course.isWhole ? limiter.enter() : limiter.enter(arrivingFrom: course.client)
        guard course.place != nil else { return exchange.failure(busy()) }
        metrics.inFlight.add(1)
        defer {
            if let place = course.place { limiter.leave(place) }
            metrics.inFlight.add(-1)
        }
        var response: HTTPResponse
        do {
            response = try await answer(request, exchange, &course)
        } catch {
            response = exchange.failure(failure(error, exchange), isExact: course.route?.policy.exact ?? false)
        }
        if let allowance = course.allowance { response.add(allowance) }
        metrics.completed(exchange, request, course.template, status: Int(response.status.code), ContinuousClock.now - started)
        return response
    }

    /// What is learned of a request while it is answered, and reported even when it fails.
    private struct Course {
        let client: IPAddress?
        let match: RouteMatch
        /// Whether nothing of the request is still to arrive.
        let isWhole: Bool
        var place: RequestLimiter.Place?
        var route: Route?
        var template = "none"
        /// What the caller has left, of the limit that is nearer.
        var allowance: Allowance?

        mutating func pass(_ asked: Allowance?) throws(ServiceError) {
            guard let asked else { return }
            if !asked.isAllowed || asked.remaining < allowance?.remaining ?? .max { allowance = asked }
            guard asked.isAllowed else {
                throw ServiceError(
                    .resourceExhausted,
                    "RATE_LIMITED",
                    "Too many requests; come again later.",
                    retryAfter: asked.retryAfter
                )
            }
        }
    }

    private func answer(_ request: HTTPRequest, _ exchange: Exchange, _ course: inout Course) async throws -> HTTPResponse {
        if let response = crossOrigin.preflight(request, exchange, methods: { methods(of: request.path) }) {
            course.template = "preflight"
            try course.pass(limits.ask(address: course.client, cost: 1))
            return response
        }
        if let response = try await own.respond(to: request, exchange) {
            course.template = "own"
            return response
        }
        var cost: UInt32? = 1
        if case .found(let route, _) = course.match {
            (course.route, course.template) = (route, route.template)
            cost = route.policy.unlimited ? nil : route.policy.cost
        }
        if let cost { try course.pass(limits.ask(address: course.client, cost: cost)) }
        switch course.match {
        case .found(let route, let path): return try await call(route, path, request, exchange, &course)
        case .methodNotAllowed(let allow):
            try requireAllRoutes()
            return exchange.methodNotAllowed(allow, near: slip(request))
        case .notFound:
            try requireAllRoutes()
            throw ServiceError.unknownRoute(near: near(request))
        case .malformed: throw ServiceError(.invalidArgument, "MALFORMED_PATH", "The path is not percent-encoded correctly.")
        }
    }

    private func busy() -> ServiceError {
        metrics.refusedOne()
        return .unavailable("The server is busy.")
    }

    /// A gateway that has just started may not have every service's routes yet: path and method may well exist.
    private func requireAllRoutes() throws(ServiceError) {
        guard catalog.knows(own.health.expected) else { throw .unavailable("Not every service has been found yet.") }
    }

    /// The route that was probably meant by a path that has none.
    private func near(_ request: HTTPRequest) -> String? {
        let path = "/" + request.path.split(separator: "/").joined(separator: "/")
        if path != request.path, let method = own.methods(of: path)?.first { return "\(method) \(path)" }
        return catalog.routes.suggestion(method: request.method.rawValue, path: request.path) ?? own.pages.near(path)
    }

    /// The route that was probably meant by a path that only another has.
    private func slip(_ request: HTTPRequest) -> String? {
        catalog.routes.suggestion(method: request.method.rawValue, path: request.path, isSlip: true)
    }

    /// A refusal of fields names them in one order. Of what the path has in the place of an id it says which route was probably meant.
    private func explained(_ error: ServiceError, _ route: Route, _ request: HTTPRequest) -> ServiceError {
        guard error.reason == "VALIDATION_ERROR" else { return error }
        var error = error
        error.details = route.inOrder(error.details)
        guard error.details.contains(where: { route.pathFields.contains($0.field) }), let meant = slip(request) else {
            return error
        }
        error.message += " Did you mean \(meant)?"
        return error
    }

    /// The methods that a path takes; nil when there is no such path.
    private func methods(of path: String) -> [String]? {
        if let methods = own.methods(of: path) { return methods }
        guard case .methodNotAllowed(let allow) = catalog.routes.match(method: "OPTIONS", path: path) else { return nil }
        return allow
    }

    private func call(
        _ route: Route,
        _ path: PathValues,
        _ request: HTTPRequest,
        _ exchange: Exchange,
        _ course: inout Course
    ) async throws -> HTTPResponse {
        let started = ContinuousClock.now
        let caller = try await authenticator.caller(request.headers[field: "Authorization"], for: route.policy.auth)
        let principal = caller?.principal
        if !route.policy.unlimited { try course.pass(limits.ask(user: principal?.userID, cost: route.policy.cost)) }
        if route.policy.stream != nil, let caller {
            // Fields and parameters that there are none of.
            _ = try await body(of: request, route, path).request()
            guard limiter.arrived(&course.place) else { throw busy() }
            return try await streams.respond(to: request, route, caller, exchange, course.client)
        }
        // Before any of the body is read: what is refused after an upload has been stored leaves it behind.
        let idempotencyKey = try Self.idempotencyKey(request)
        let budget = Interval.milliseconds(Int64(route.policy.timeoutMilliseconds))
        var deadline = SystemClock.now() + budget
        let body: RequestReading
        var blob: BlobReference?
        if !route.policy.uploads.isEmpty, !route.takesJSON || UploadReceiver.isForm(request) {
            (body, blob) = try await uploads.receive(request, for: route, path)
            // An upload's time on the wire is the client's, not the service's.
            deadline = SystemClock.now() + budget
        } else {
            body = try await self.body(of: request, route, path)
        }
        var context = CallContext(
            requestID: exchange.requestID,
            trace: exchange.trace,
            deadline: deadline,
            principal: principal,
            idempotencyKey: idempotencyKey,
            clientAddress: course.client
        )
        // A change without a key gets one, so that it may be sent again when an instance does not answer.
        let honoursKeys = catalog.honoursKeys(route.service)
        if honoursKeys, !route.policy.idempotent { context.makeKey() }
        let reply: [UInt8]
        do {
            guard limiter.arrived(&course.place) else { throw busy() }
            reply = try await bus.callRaw(
                subject: route.subject,
                body: try await whole(body, route, context).request(),
                context: context,
                idempotent: route.policy.idempotent,
                honoursKeys: honoursKeys
            )
        } catch let error as ServiceError {
            // Maybe no handler has seen the upload, or none is there. A client that asks again sends the bytes again; one that has hung up
            // (no `ServiceError`) does not, so the service is left to finish.
            if let blob { await uploads.discard(blob) }
            throw explained(error, route, request).asSeenByClients(route.subject, logger)
        }
        let took = (ContinuousClock.now - started) / .milliseconds(1)
        let output = try route.reply.transcode(reply, requestID: exchange.requestID, took: Int64(took))
        return try await send(output, route.status(of: reply), of: route, request, exchange)
    }

    /// A request with all that is wrong with it (PF-2): the rules of its fields are the service's.
    private func whole(_ reading: RequestReading, _ route: Route, _ context: CallContext) async -> RequestReading {
        guard reading.mayHideProblems else { return reading }
        var reading = reading
        let context = context.child(timeout: Self.longestQuestion)
        await reading.add { await bus.problems(subject: route.subject, body: $0, context: context) }
        return reading
    }

    /// For what else is wrong with a request a client does not wait longer.
    private static let longestQuestion = Interval.seconds(2)

    /// The request of a route without an upload.
    private func body(of request: HTTPRequest, _ route: Route, _ path: PathValues) async throws -> RequestReading {
        let query = request.query ?? ""
        guard let raw = route.policy.raw else {
            let body = try await JSONBody.collect(request, within: bodyTimeout)
            return try route.request.read(body: body, path: path, query: query)
        }
        let body = try await JSONBody.collectRaw(request, atMost: Int(raw.maxBytes), within: bodyTimeout)
        return try route.request.read(raw: body, header: { request.headers[field: $0] }, path: path, query: query)
    }

    private func send(
        _ output: ReplyOutput,
        _ success: Int,
        of route: Route,
        _ request: HTTPRequest,
        _ exchange: Exchange
    ) async throws -> HTTPResponse {
        var response: HTTPResponse
        switch output {
        case .json(let bytes): return exchange.response(status: success, contentType: Exchange.json, bytes: bytes)
        case .raw(let bytes, let contentType, let status):
            let status = (200...599).contains(status) ? status : success
            response = exchange.response(status: status, contentType: contentType, bytes: bytes)
        case .blob(let key): response = try await own.media.serve(try BlobKey(key), to: request, exchange)
        case .redirect(let location):
            response = HTTPResponse(.found, ["Location": location, "X-Request-Id": exchange.requestID])
        }
        for header in route.policy.body?.headers ?? [] { response.headers[field: header.name] = header.value }
        if case .raw = output {
            let declared = response.headers[field: "Content-Security-Policy"]
            response.headers[field: "Content-Security-Policy"] = contentPolicy.header(for: declared)
        }
        return response
    }

    /// PF-4: 1 to 255 visible characters.
    private static func idempotencyKey(_ request: HTTPRequest) throws(ServiceError) -> String? {
        guard let key = request.headers[field: "Idempotency-Key"] else { return nil }
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw .validation(field: "Idempotency-Key", "must be 1 to 255 visible ASCII characters")
        }
        return key
    }

    private func failure(_ error: any Error, _ exchange: Exchange) -> ServiceError {
        if let error = error as? ServiceError { return error }
        logger.error("a request failed", metadata: ["request_id": "\(exchange.requestID)", "error": "\(error)"])
        return .internal
    }
}

extension HTTPRequest {
    /// Whether its head announces a body.
    fileprivate var hasBody: Bool {
        headers.contains(name: "Transfer-Encoding") || headers.first(name: "Content-Length").map { Int($0) != 0 } ?? false
    }
}
