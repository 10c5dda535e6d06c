internal import Hummingbird
internal import Kernel

/// The API's description, made from the same protos as the routes (PF-6). `/docs` is a page that reads it (`PageRoutes`).
struct DocumentationRoutes: Sendable {
    let catalog: ServiceCatalog
    /// Whether this gateway has the routes of the development clock (PF-7).
    let developmentClock: Bool

    func openAPI(_ exchange: Exchange) -> Response {
        exchange.response(status: 200, contentType: Exchange.json, bytes: catalog.openAPI(developmentClock: developmentClock))
    }
}
