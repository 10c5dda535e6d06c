internal import HTTPServer
internal import Kernel
private import Synchronization

/// The API's description, made from the same protos as the routes (PF-6). `/docs` is a page that reads it (`PageRoutes`).
///
/// It is made and compressed once a day for the routes that there are, and all replies share its bytes: everyone may ask for it as
/// often as they like, and read it as slowly.
final class DocumentationRoutes: Sendable {
    private struct Page {
        let generation: Int
        let day: CalendarDate
        let document: StaticDocument
    }

    private let catalog: ServiceCatalog
    /// Whether this gateway has the routes of the development clock (PF-7).
    private let developmentClock: Bool
    private let clock: any Clock
    private let made = Mutex<Page?>(nil)

    init(catalog: ServiceCatalog, developmentClock: Bool, clock: any Clock) {
        (self.catalog, self.developmentClock, self.clock) = (catalog, developmentClock, clock)
    }

    func openAPI(_ request: HTTPRequest, _ exchange: Exchange) -> HTTPResponse { page.response(to: request, exchange) }

    /// The description of the routes that there are now.
    var page: StaticDocument {
        // Read before the routes: a page of newer ones is made once more, and never one of older ones kept.
        let generation = catalog.generation
        let today = Zone.utc.date(at: clock.now())
        // Who comes while it is made waits for it.
        return made.withLock { made in
            if let made, made.generation >= generation, made.day == today { return made.document }
            let document = StaticDocument(catalog.openAPI(developmentClock: developmentClock, today: today), Exchange.json)
            made = Page(generation: generation, day: today, document: document)
            return document
        }
    }
}
