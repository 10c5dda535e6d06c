import Foundation
import Testing

/// Every route a user can look at, from the description of the API: each GET that needs no more than being signed in.
///
/// A path parameter, or a query parameter that names something, must be known here or be given an id: a route that cannot be filled fails the
/// test, so that a new one is not passed over.
struct GetWalk: Sendable {
    /// One address to look at.
    struct Target: Sendable, CustomStringConvertible {
        /// As in the description: `/api/users/{user_id}`.
        let route: String
        let address: String
        var description: String { address }
    }

    private struct Route: Sendable {
        let path: String
        let names: [String]
        let queries: [(name: String, isRequired: Bool)]
    }

    /// Query parameters that name nothing: paging and filters. Left out.
    private static let plain: Set<String> = [
        "limit", "cursor", "offset", "page", "days", "direction", "month", "year", "status", "type", "unread", "locale",
        "lang", "currency", "date", "from", "to", "scope", "period", "sort", "archived", "deleted", "include_notes",
        "bbox", "lat", "lon", "radius", "geohash", "since", "mine",
    ]

    private let routes: [Route]

    init(_ home: Installation) async throws {
        routes = APIOperation.all(in: try await home.call("GET", "/openapi.json").json).compactMap { operation in
            // What the gateway answers by itself belongs to no user, nor do files about the installation.
            guard operation.verb == "GET", operation.json["tags"][0].string != "gateway",
                !operation.path.hasPrefix("/.well-known/"),
                ["user", "none", "guest"].contains(operation.auth), !operation.isStream
            else { return nil }
            return Route(
                path: operation.path,
                names: operation.parameters,
                queries: operation.json["parameters"].list.filter { $0["in"].string == "query" }.compactMap { parameter in
                    parameter["name"].string.map { ($0, parameter["required"].bool == true) }
                }
            )
        }
        try #require(routes.count > 20, "\(routes.map(\.path))")
    }

    /// The addresses of every route, once for each id of its parameter.
    ///
    /// - Parameter ids: what to put in, by the name of the parameter.
    func targets(_ ids: [String: [String]]) throws -> [Target] {
        var targets: [Target] = []
        for route in routes {
            var addresses = [route.path]
            for name in route.names {
                let values = try #require(ids[name], "teach this test what \(name) in \(route.path) is")
                try #require(!values.isEmpty)
                addresses = addresses.flatMap { address in values.map { address.replacing("{\(name)}", with: $0) } }
            }
            for (name, isRequired) in route.queries where isRequired || !Self.plain.contains(name) {
                let values = try #require(ids[name], "teach this test what \(name) of \(route.path) is")
                let filled = addresses.flatMap { address in
                    values.map { "\(address)\(address.contains("?") ? "&" : "?")\(name)=\($0)" }
                }
                addresses = isRequired ? filled : addresses + filled
            }
            targets += addresses.map { Target(route: route.path, address: $0) }
        }
        return targets
    }

    /// What a user finds at each of the addresses.
    func look(_ person: Person, _ ids: [String: [String]]) async throws -> [(target: Target, reply: HTTPReply)] {
        var found: [(Target, HTTPReply)] = []
        for target in try targets(ids) { found.append((target, try await person.get(target.address))) }
        return found
    }
}
