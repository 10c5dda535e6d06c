private import Synchronization

/// A route that a descriptor asked for and did not get.
public struct RouteRefusal: Hashable, Sendable, CustomStringConvertible {
    /// `streaksnap.auth.v1.Auth.Register`.
    public let method: String
    /// `POST /api/auth/register`; empty when the whole method was refused.
    public let route: String
    /// Why, in English.
    public let reason: String

    public var description: String { "\(method) \(route): \(reason)" }
}

/// What a request's method and path lead to.
public enum RouteMatch: Sendable {
    /// A route and the text of its path variables.
    case found(Route, PathValues)
    /// 405: the path exists, for these verbs: the `Allow` header, sorted, with `HEAD` where `GET` is.
    case methodNotAllowed(allow: [String])
    /// 404.
    case notFound
    /// 400: the path is not percent-encoded correctly.
    case malformed
}

/// All HTTP routes of all services, replaceable while requests run (D2).
///
/// Readers take an immutable snapshot; `replace` and `install` build the next one beside it. A service can add methods of its own proto
/// package `streaksnap.<service>.v<n>` only, which go to its own subjects `rpc.<service>.v<n>.*`; a path that another service has, or part
/// of it, is refused and reported, and so is what `RouteRules` forbid.
///
/// While several versions of a service run, it has several descriptor sets, and the routes of all are served. A method that several of
/// them have is as the first says: its messages, comments, and who may call it; the others add only the paths that it no longer has.
public final class RouteTable: Sendable {
    private struct Snapshot: Sendable {
        /// The first service to declare a path has it.
        var services: [Service] = []
        var routes: [Route] = []
        var trie = RouteTrie()
    }

    /// A service's name on the bus, and its descriptor sets, the best first.
    public struct Service: Sendable {
        let name: String
        let sets: [DescriptorSet]

        /// - Parameters:
        ///   - name: on the bus, `auth`.
        ///   - sets: of the versions that run, the one that decides first.
        public init(name: String, sets: [DescriptorSet]) {
            self.name = name
            self.sets = sets
        }
    }

    private let snapshot = Mutex(Snapshot())
    private let rules: RouteRules

    /// A table without routes.
    ///
    /// - Parameter rules: what no descriptor decides.
    public init(rules: RouteRules = RouteRules()) { self.rules = rules }

    /// All routes, in the order of the services, then as declared.
    public var routes: [Route] { snapshot.withLock { $0.routes } }

    /// Serves the routes of these services and no others. Equal services in the same order always give the same routes.
    ///
    /// - Parameters:
    ///   - services: the first to declare a path has it.
    ///   - keepsPaths: whether a service keeps the paths that it has now and still declares, although a service before it declares them too.
    /// - Returns: what was refused and why, by service.
    @discardableResult
    public func replace(with services: [Service], keepsPaths: Bool = false) -> [String: [RouteRefusal]] {
        let (next, refusals) = build(services, held: keepsPaths ? Self.declared(routes, services) : [])
        snapshot.withLock { $0 = next }
        return refusals
    }

    /// Adds a service's routes, or replaces all it had.
    ///
    /// - Parameters:
    ///   - set: the descriptor the service was built with; services of other packages in it are ignored but reported.
    ///   - service: the name on the bus, `auth`.
    /// - Returns: what was refused and why; empty when every route of the service is served.
    @discardableResult
    public func install(_ set: DescriptorSet, service: String) -> [RouteRefusal] {
        snapshot.withLock { current in
            var services = current.services
            let entry = Service(name: service, sets: [set])
            if let index = services.firstIndex(where: { $0.name == service }) {
                services[index] = entry
            } else {
                services.append(entry)
            }
            let (next, refusals) = build(services, held: [])
            current = next
            return refusals[service] ?? []
        }
    }

    /// Adds or replaces every service of a descriptor set, each by its own package: what a gateway starts with.
    ///
    /// - Returns: what was refused and why.
    @discardableResult
    public func install(all set: DescriptorSet) -> [RouteRefusal] {
        var order: [String] = []
        var refusals: [RouteRefusal] = []
        for service in set.services {
            guard let name = BusName(package: service.package)?.service else {
                refusals.append(
                    RouteRefusal(method: service.fullName, route: "", reason: "its package is not streaksnap.<service>.v<n>")
                )
                continue
            }
            if !order.contains(name) { order.append(name) }
        }
        for name in order { refusals += install(set.only(service: name), service: name) }
        return refusals
    }

    /// Removes a service's routes.
    public func remove(service: String) {
        snapshot.withLock { current in
            current = build(current.services.filter { $0.name != service }, held: []).snapshot
        }
    }

    /// Finds the route for a request.
    ///
    /// Literal segments win over variables, segment by segment from the left, whatever the verb: of a path that is a literal of one route,
    /// no other route sees anything.
    ///
    /// - Parameters:
    ///   - method: `GET`, …; `HEAD` finds `GET` routes.
    ///   - path: the request's path as sent, without the query.
    public func match(method: String, path: String) -> RouteMatch {
        guard let segments = Self.segments(path) else { return .malformed }
        let snapshot = snapshot.withLock { $0 }
        switch snapshot.trie.match(segments, verb: method) {
        case .route(let index):
            let route = snapshot.routes[index]
            return .found(route, route.pathValues(segments))
        case .otherVerbs(let verbs): return .methodNotAllowed(allow: Self.allow(verbs))
        case .nothing: return .notFound
        }
    }

    /// The `Allow` header of a path that has routes for these verbs: sorted, with `HEAD` where `GET` is.
    public static func allow(_ verbs: [String]) -> [String] {
        Set(verbs + (verbs.contains("GET") ? ["HEAD"] : [])).sorted()
    }

    /// The decoded segments of a path; nil when it is malformed, none when it does not begin with a slash.
    static func segments(_ path: String) -> [[UInt8]]? {
        var path = path
        return path.withUTF8 { buffer in
            guard buffer.first == UInt8(ascii: "/"), buffer.count <= 8_192 else { return [] }
            var result: [[UInt8]] = []
            var start = 1
            while start <= buffer.count {
                var end = start
                var isEncoded = false
                while end < buffer.count, buffer[end] != UInt8(ascii: "/") {
                    isEncoded = isEncoded || buffer[end] == UInt8(ascii: "%")
                    end += 1
                }
                let part = UnsafeBufferPointer(rebasing: buffer[start..<end])
                if isEncoded {
                    guard let decoded = ByteText.percentDecoded(part, plusIsSpace: false) else { return nil }
                    result.append(decoded)
                } else {
                    result.append(Array(part))
                }
                start = end + 1
            }
            return result
        }
    }

    /// Those of the routes that their services still declare.
    private static func declared(_ routes: [Route], _ services: [Service]) -> [Route] {
        var declared: Set<String> = []
        for service in services {
            for method in service.sets.flatMap(\.services).flatMap(\.methods) {
                for binding in method.bindings { declared.insert("\(service.name) \(binding.verb) \(binding.template)") }
            }
        }
        return routes.filter { declared.contains("\($0.service) \($0.verb) \($0.template)") }
    }

    private func build(
        _ services: [Service],
        held: [Route]
    ) -> (snapshot: Snapshot, refusals: [String: [RouteRefusal]]) {
        var building = TableBuilder(rules: rules, held: held)
        for service in services { building.add(service) }
        return (Snapshot(services: services, routes: building.routes, trie: building.trie), building.refusals)
    }
}
