/// Makes routes of descriptor sets, one service after the other.
struct TableBuilder {
    private(set) var routes: [Route] = []
    private(set) var trie = RouteTrie()
    private(set) var refusals: [String: [RouteRefusal]] = [:]
    private let rules: RouteRules
    /// Routes that services have and still declare.
    private let held: [Route]

    /// - Parameters:
    ///   - rules: what no descriptor decides.
    ///   - held: routes that keep their paths, whichever service comes first.
    init(rules: RouteRules, held: [Route]) { (self.rules, self.held) = (rules, held) }

    /// A method as the first set that has it declares it.
    private struct Declared {
        let method: MethodDescriptor
        let service: ServiceDescriptor
        let set: DescriptorSet
    }

    /// Adds the routes of all versions of a service.
    mutating func add(_ service: RouteTable.Service) {
        var known: [String: Declared] = [:]
        var refused: [RouteRefusal] = []
        for (rank, set) in service.sets.enumerated() {
            var set = set
            set.better = Array(service.sets[..<rank])
            let firstRoute = routes.count
            var declared: [String: Declared] = [:]
            for proto in set.services {
                for method in proto.methods {
                    let own = Declared(method: method, service: proto, set: set)
                    refused += add(own, as: service.name, known: known, declared: &declared, firstRoute)
                }
            }
            known.merge(declared) { better, _ in better }
        }
        // Two versions may be refused the same.
        var reported: Set<RouteRefusal> = []
        refusals[service.name] = refused.filter { reported.insert($0).inserted }
    }

    /// Adds a method's routes.
    ///
    /// - Parameters:
    ///   - known: the methods of the better sets, by subject.
    ///   - declared: those of this set so far.
    ///   - firstRoute: where the routes of this set begin.
    private mutating func add(
        _ own: Declared,
        as name: String,
        known: [String: Declared],
        declared: inout [String: Declared],
        _ firstRoute: Int
    ) -> [RouteRefusal] {
        let method = own.method
        let fullName = "\(own.service.fullName).\(method.name)"
        func refusal(_ reason: String, _ route: String = "") -> RouteRefusal {
            RouteRefusal(method: fullName, route: route, reason: reason)
        }
        guard let bus = BusName(package: own.service.package), bus.service == name else {
            if method.bindings.isEmpty || method.policy.auth == .internal { return [] }
            return [refusal("the service \(name) may only add methods of the package streaksnap.\(name).v<n>")]
        }
        let subject = "\(bus.version).\(method.name)"
        guard declared.updateValue(own, forKey: subject) == nil else {
            return [refusal("another service of the package has a method of this name, so both would have one subject")]
        }
        let better = known[subject]
        guard method.policy.auth != .internal, better?.method.policy.auth != .internal else { return [] }
        var refusals: [RouteRefusal] = []
        for binding in method.bindings {
            do throws(DescriptorError) {
                let route = try route(binding, own, better, on: bus)
                if let reason = problem(of: route) {
                    refusals.append(refusal(reason, "\(binding.verb) \(binding.template)"))
                } else if let taken = trie.insert(route.pattern.segments, verb: route.verb, route: routes.count) {
                    let owner = routes[taken]
                    // A better version of the service has it already.
                    if owner.service == name, taken < firstRoute { continue }
                    refusals.append(refusal(Self.taken(by: owner), "\(binding.verb) \(binding.template)"))
                } else {
                    routes.append(route)
                }
            } catch {
                refusals.append(refusal(error.problem, "\(binding.verb) \(binding.template)"))
            }
        }
        return refusals
    }

    /// The better version's method on a path of this one's, since replicas of both answer it. When that method has no field for the path any
    /// more, this one's, for those who may call the better one.
    private func route(
        _ binding: HTTPBinding,
        _ own: Declared,
        _ better: Declared?,
        on bus: BusName
    ) throws(DescriptorError) -> Route {
        guard let better else { return try Route(binding, of: own.method, in: own.service, on: bus, set: own.set, rules: rules) }
        if let route = try? Route(binding, of: better.method, in: better.service, on: bus, set: better.set, rules: rules) {
            return route
        }
        var method = own.method
        method.policy.auth = better.method.policy.auth
        return try Route(binding, of: method, in: own.service, on: bus, set: own.set, rules: rules)
    }

    /// Why a service may not have a route that nothing else has exactly so; nil when it may.
    private func problem(of route: Route) -> String? {
        if let problem = rules.problem(of: route) { return problem }
        // Who has a path keeps it: a newcomer does not get it, whatever the order of the services.
        func rival(_ isOne: (Route) -> Bool) -> Route? {
            routes.first { $0.service != route.service && isOne($0) } ?? held.first { $0.service != route.service && isOne($0) }
        }
        let holder =
            rival { $0.verb == route.verb && $0.pattern.meeting(route.pattern) == .same }
            ?? rival { $0.takesPaths(with: route) }
        return holder.map(Self.taken)
    }

    private static func taken(by route: Route) -> String { "the path is taken by \(route.protoService).\(route.method)" }
}
