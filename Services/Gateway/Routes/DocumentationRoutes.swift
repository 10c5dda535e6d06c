internal import HTTPTypes
internal import Hummingbird
internal import Kernel

/// The API's description, made from the same protos as the routes (PF-6).
struct DocumentationRoutes: Sendable {
    let catalog: ServiceCatalog
    /// Whether this gateway has the routes of the development clock (PF-7).
    let developmentClock: Bool

    func openAPI(_ exchange: Exchange) -> Response {
        exchange.response(status: 200, contentType: Exchange.json, bytes: catalog.openAPI(developmentClock: developmentClock))
    }

    /// A page without scripts or anything from elsewhere: every route with its purpose.
    func page(_ exchange: Exchange) -> Response {
        let rows = catalog.routes.routes.map { route in
            "<tr><td><code>\(route.verb)</code></td><td><code>\(route.template.escapedForHTML)</code></td>"
                + "<td>\(route.service.escapedForHTML).\(route.method.escapedForHTML)</td><td>\(route.policy.auth)</td></tr>"
        }
        let html = """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>StreakSnap API</title>
            <style>body{font:16px/1.5 system-ui;margin:2rem auto;max-width:64rem;padding:0 1rem}td,th{text-align:left;padding:.2rem .8rem}</style>
            <h1>StreakSnap API</h1>
            <p>Machine-readable: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1), with every field and rule.</p>
            <p>Names of cities: <a href="https://www.geonames.org/">GeoNames</a>, CC BY 4.0. Borders: Natural Earth.</p>
            <table><tr><th>method</th><th>path</th><th>RPC</th><th>who</th></tr>\(rows.joined(separator: "\n"))</table></html>
            """
        return exchange.response(status: 200, contentType: "text/html; charset=utf-8", bytes: Array(html.utf8))
    }
}
