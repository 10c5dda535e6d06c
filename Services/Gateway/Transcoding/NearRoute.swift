extension RouteTable {
    /// The route that was probably meant by a path that has none: `GET /api/streaks/{streak_id}`; nil when none is near.
    ///
    /// One that is met without the slashes too many, with `/api` before it, or with one literal segment that is spelled otherwise. Of several
    /// the nearest, then the one with more literals, then the one with the same verb.
    ///
    /// - Parameters:
    ///   - method: the request's.
    ///   - path: as sent, without the query.
    ///   - isSlip: the path has a route, by what stands where a word was probably meant (`/api/habits/toady`): only a route with this verb
    ///     and a slip in one of its words is meant.
    public func suggestion(method: String, path: String, isSlip: Bool = false) -> String? {
        guard let sent = Self.segments(path)?.filter({ !$0.isEmpty }), (1...PathTemplate.maximumSegments).contains(sent.count)
        else {
            return nil
        }
        let verb = method == "HEAD" ? "GET" : method
        var best: (route: Route, cost: Int)?
        for route in routes where !route.descriptor.isDeprecated {
            let template = route.pattern.segments
            guard let distance = Self.distance(sent, template) ?? Self.distance([Array("api".utf8)] + sent, template) else {
                continue
            }
            if isSlip, Self.isMet(template, by: sent) || route.verb != verb { continue }
            let variables = template.count { $0 == .any }
            let cost = 200 * distance + 2 * variables + (route.verb == verb ? 0 : 1)
            if cost < best?.cost ?? .max { best = (route, cost) }
        }
        return best.map { "\($0.route.verb) \($0.route.template)" }
    }

    /// Whether segments are those of a template, letter by letter.
    private static func isMet(_ template: [PathTemplate.Segment], by sent: [[UInt8]]) -> Bool {
        sent.count == template.count
            && zip(sent, template).allSatisfy { part, segment in
                if case .literal(let text) = segment { text == part } else { true }
            }
    }

    /// How far segments are from a template; nil when more than one differs, or one by more than a slip or two.
    private static func distance(_ sent: [[UInt8]], _ template: [PathTemplate.Segment]) -> Int? {
        guard sent.count == template.count else { return nil }
        var distance = 0
        for (part, segment) in zip(sent, template) {
            switch segment {
            case .any: continue
            case .rest: return nil
            case .literal(let text) where text == part: continue
            case .literal(let text):
                guard let slips = NearName.slips(part, text), slips == 0 || distance == 0 else { return nil }
                distance += slips
            }
        }
        return distance
    }
}
