internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import Runtime
internal import Transcoding

/// The gateway's few routes that are no RPC: health, pages and the console's session, blob downloads, presigned uploads, the development clock.
struct OwnRoutes: Sendable {
    let health: HealthRoutes
    let media: MediaRoute
    let uploads: UploadRoute
    let documentation: DocumentationRoutes
    let pages: PageRoutes
    let session: ConsoleSession
    let clock: ClockRoutes?

    /// Templates of all paths that a gateway may have, so that no service gets one of them: also while the development clock is off.
    static let templates =
        ["/media/**", "/\(UploadRoute.prefix.dropFirst())**"] + PageRoutes.paths + [
            "/pages/**", ConsoleSession.path, "/api/health", "/healthz", "/readyz", "/openapi.json", "/api/dev/clock",
        ]

    /// The methods that one of these paths takes; nil for other paths.
    func methods(of path: String) -> [String]? {
        if path.hasPrefix("/media/") || pages.has(path) || pages.place(for: path) != nil { return ["GET", "HEAD"] }
        if path.hasPrefix(UploadRoute.prefix) { return ["PUT"] }
        switch path {
        case "/api/health", "/healthz", "/readyz", "/openapi.json": return ["GET", "HEAD"]
        case "/api/dev/clock": return clock == nil ? nil : ["GET", "POST"]
        case ConsoleSession.path: return ConsoleSession.methods
        default: return nil
        }
    }

    /// The response when the path is one of these; nil otherwise.
    func respond(to request: HTTPRequest, _ exchange: Exchange) async throws -> HTTPResponse? {
        let path = request.path
        // Nearly every request is for an RPC below /api/…: one comparison decides.
        if path.hasPrefix("/api/"), path != "/api/health", path != "/api/dev/clock" { return nil }
        guard let methods = methods(of: path) else { return nil }
        let allow = RouteTable.allow(methods)
        guard allow.contains(request.method.rawValue) else { return exchange.methodNotAllowed(allow) }
        if path.hasPrefix("/media/") { return try await media.respond(to: request, exchange) }
        if let page = pages.respond(to: request, exchange) { return page }
        if let place = pages.place(for: path) {
            return HTTPResponse(.found, ["Location": place, "Cache-Control": "no-cache", "X-Request-Id": exchange.requestID])
        }
        if path.hasPrefix(UploadRoute.prefix) { return try await uploads.respond(to: request, exchange) }
        switch path {
        case "/api/health": return await health.report(exchange)
        case "/healthz": return exchange.response(status: 200, contentType: "text/plain", bytes: Array("alive\n".utf8))
        case "/readyz": return health.ready(exchange)
        case "/openapi.json": return documentation.openAPI(request, exchange)
        case "/api/dev/clock": return try await clock?.respond(to: request, exchange)
        case ConsoleSession.path: return try await session.respond(to: request, exchange)
        default: return nil
        }
    }
}
