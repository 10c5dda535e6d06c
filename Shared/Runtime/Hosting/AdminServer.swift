internal import HTTPServer
public import Logging
internal import NIOHTTP1

/// `/metrics`, `/healthz` and `/readyz` of one executable, on a port that clients do not reach.
public enum AdminServer {
    /// Starts the admin port when the settings name one; returns when it is open. It is served until the task is cancelled.
    ///
    /// - Parameter isReady: asked for each `/readyz`.
    /// - Throws: `Settings.Invalid` when it cannot be listened on.
    public static func start(
        _ settings: Settings,
        metrics: Metrics,
        logger: Logger,
        isReady: @escaping @Sendable () -> Bool
    ) async throws -> Task<Void, Never>? {
        let port = try settings.get(CommonSettings.adminPort)
        guard port != 0 else { return nil }
        let host = try settings.get(CommonSettings.adminHost)
        ProcessMetrics.add(to: metrics)
        metrics.measured("streaksnap_ready", help: "1 when /readyz says ready, else 0.") { isReady() ? 1 : 0 }
        do {
            let server = try await HTTPServer.start(host: host, port: port) { answer($0, metrics, isReady: isReady) }
            return Task {
                await server.run()
                guard !Task.isCancelled else { return }
                logger.error("the admin port is not served any more", metadata: ["port": "\(port)"])
            }
        } catch {
            let (host, port, address) = (CommonSettings.adminHost, CommonSettings.adminPort, "\(host):\(port)")
            throw Settings.Invalid.address(address, of: host, and: port, "\(error)")
        }
    }

    private static func answer(_ request: HTTPRequest, _ metrics: Metrics, isReady: () -> Bool) -> HTTPResponse {
        guard [.GET, .HEAD].contains(request.method) else { return HTTPResponse(.methodNotAllowed, ["Allow": "GET, HEAD"]) }
        let text: HTTPHeaders = ["Content-Type": "text/plain; charset=utf-8"]
        return switch request.path {
        case "/metrics": HTTPResponse(.ok, ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"], metrics.text())
        case "/healthz": HTTPResponse(.ok, text, "alive\n")
        case "/readyz": isReady() ? HTTPResponse(.ok, text, "ready\n") : HTTPResponse(.serviceUnavailable, text, "not ready\n")
        default: HTTPResponse(.notFound)
        }
    }
}
