public import Kernel

/// The OpenAPI 3.1 page of all routes (PF-6): paths, schemas, comments, validation rules, error codes, examples and who may call.
public enum OpenAPI {
    /// The document as JSON.
    ///
    /// - Parameters:
    ///   - routes: every route to describe, e.g. `RouteTable.routes`; the gateway's own are added.
    ///   - title: the API's name.
    ///   - version: the API's version.
    ///   - server: base URL clients use; empty for the one the page comes from.
    ///   - developmentClock: whether the routes of the development clock exist (PF-7).
    ///   - today: the day around which dates in examples lie, so that an example can be sent as it is.
    public static func document(
        _ routes: [Route],
        title: String,
        version: String,
        server: String = "",
        developmentClock: Bool = false,
        today: CalendarDate
    ) -> [UInt8] {
        var schemas = OpenAPISchemas(routes, today: today)
        let paths = paths(routes, &schemas) + OpenAPIGateway.paths(developmentClock: developmentClock, today: today)
        let document: JSONNode = [
            "openapi": "3.1.0",
            "info": ["title": .string(title), "version": .string(version), "description": .string(description(routes))],
            "servers": [["url": .string(server.isEmpty ? "/" : server)]],
            "tags": .array(tags(routes)),
            "paths": .object(paths),
            "components": [
                "securitySchemes": ["bearer": ["type": "http", "scheme": "bearer", "bearerFormat": "JWT"]],
                "parameters": ["IdempotencyKey": OpenAPIResponses.idempotencyKey],
                "headers": OpenAPIResponses.headers,
                "schemas": .object(
                    OpenAPIErrors.components(isExact: routes.contains(where: \.policy.exact)) + OpenAPIResponses.components
                        + OpenAPIGateway.components + schemas.components()
                ),
            ],
        ]
        var out = JSONText()
        document.write(to: &out)
        return out.bytes
    }

    private static func description(_ routes: [Route]) -> String {
        """
        Success is `{"success": true, "data": …, "meta": …}`, failure \
        `{"success": false, "error": {"code", "reason", "message", "details"}, "meta": …}`. `error.code` is stable; each operation lists its \
        own, in `x-error-codes` too. New ones may come: treat those that you do not know by their HTTP status. Act on `error.reason`: it is the same word on every \
        route. \(published(routes))Every 401 has `WWW-Authenticate`, every 429 and 503 `Retry-After`. \
        Times are RFC 3339 in UTC, dates `YYYY-MM-DD`, ids UUIDs. Dates in examples lie around the day on which this description was made. Operations marked as deprecated are other paths of the same method, kept \
        for older clients.
        """
    }

    /// Which routes keep a form of errors that was published (`exact`), and what is different there.
    private static func published(_ routes: [Route]) -> String {
        let names = routes.filter(\.policy.exact).map { "`\($0.verb) \($0.template)`" }
        guard !names.isEmpty else { return "" }
        return """
            `error.details` is a list, but on the routes that keep the form in which they were published it is an object, and the `code` of \
            each 401 is `UNAUTHORIZED` there, while `reason` says `TOKEN_EXPIRED`, `INVALID_TOKEN`, `SESSION_REVOKED` or \
            `AUTHENTICATION_REQUIRED`: \(names.joined(separator: ", ")).\u{20}
            """
    }

    /// One a service, described by what its protos say of it; of several versions, the best.
    private static func tags(_ routes: [Route]) -> [JSONNode] {
        var order: [String] = []
        var comments: [String: [String]] = [:]
        var described: Set<String> = []
        for route in routes {
            if comments[route.service] == nil {
                order.append(route.service)
                comments[route.service] = []
            }
            guard described.insert(route.protoService).inserted else { continue }
            let comment = route.set.services.first { $0.fullName == route.protoService }?.comment ?? ""
            let known = comments[route.service] ?? []
            comments[route.service] = known.contains(comment) || comment.isEmpty ? known : known + [comment]
        }
        return order.map { name in
            let text = comments[name]?.joined(separator: " ") ?? ""
            return ["name": .string(name), "description": .string(text.isEmpty ? "The service \(name)." : text)]
        } + [OpenAPIGateway.tag]
    }

    private static func paths(_ routes: [Route], _ schemas: inout OpenAPISchemas) -> [(String, JSONNode)] {
        var order: [String] = []
        var operations: [String: [(String, JSONNode)]] = [:]
        var used: Set<String> = []
        for route in routes {
            // Additional bindings of one method need ids of their own.
            let base = operationID(route)
            var id = base
            var number = 2
            while !used.insert(id).inserted {
                id = "\(base)Alias\(number)"
                number += 1
            }
            let path = OpenAPIParameters.path(route)
            if operations[path] == nil { order.append(path) }
            operations[path, default: []].append((route.verb.lowercased(), operation(route, id: id, &schemas)))
        }
        return order.map { ($0, .object(operations[$0] ?? [])) }
    }

    /// `authRegister`: the service's name on the bus, so that a method can move to another proto service of its package.
    static func operationID(_ route: Route) -> String { route.service + route.method }

    private static func operation(_ route: Route, id: String, _ schemas: inout OpenAPISchemas) -> JSONNode {
        var operation: JSONNode = ["operationId": .string(id), "tags": [.string(route.service)]]
        var comment = route.descriptor.comment
        if !comment.isEmpty {
            let firstSentence = comment.split(separator: ".", maxSplits: 1).first.map(String.init) ?? comment
            operation["summary"] = .string(firstSentence.replacingNewlines())
        }
        if route.isAlias, let first = route.descriptor.bindings.first {
            comment +=
                (comment.isEmpty ? "" : "\n\n") + "Another path of `\(first.verb) \(first.template)`, which new clients use."
        }
        if !comment.isEmpty { operation["description"] = .string(comment) }
        if route.descriptor.isDeprecated || route.isAlias { operation["deprecated"] = true }
        switch route.policy.auth {
        // A secret is judged by the handler, wherever in the request it is.
        case .none, .secret: operation["security"] = []
        default: operation["security"] = [["bearer": []]]
        }
        operation["x-auth"] = .string("\(route.policy.auth)")
        operation["x-error-codes"] = .strings(route.reasons)
        let parameters = OpenAPIParameters.parameters(route, &schemas)
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        operation["requestBody"] = OpenAPIParameters.requestBody(route, &schemas)
        operation["responses"] = OpenAPIResponses.responses(route, &schemas)
        return operation
    }
}

extension String {
    /// The text on one line.
    func replacingNewlines() -> String { split(separator: "\n").joined(separator: " ") }
}
