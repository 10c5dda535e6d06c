/// What no descriptor decides (D23): which paths are the gateway's own, whose a path is, and which headers of a request leave the gateway.
public struct RouteRules: Sendable {
    /// A path of a service, as its template says it.
    public struct Place: Hashable, Sendable {
        let service: String
        let template: String

        /// - Parameters:
        ///   - service: its name on the bus.
        ///   - template: `/api/webhooks/revenuecat`.
        public init(service: String, template: String) {
            self.service = service
            self.template = template
        }
    }

    /// Templates of the gateway's own paths.
    let own: [PathTemplate]
    /// Paths that only one service may have, by template.
    let reserved: [(template: PathTemplate, service: String)]
    /// Where the `Authorization` header is a secret between the sender of a webhook and the service.
    let webhooks: Set<Place>

    /// Rules; by default no path is taken, and no `Authorization` header leaves the gateway.
    ///
    /// - Parameters:
    ///   - own: templates of the paths that the gateway answers itself.
    ///   - reserved: paths that only one service may have.
    ///   - webhooks: where a service gets the `Authorization` header.
    /// - Throws: `DescriptorError` for a text that is no template.
    public init(own: [String], reserved: [Place], webhooks: [Place]) throws(DescriptorError) {
        var templates: [PathTemplate] = []
        for text in own { templates.append(try PathTemplate(text)) }
        var places: [(template: PathTemplate, service: String)] = []
        for place in reserved { places.append((try PathTemplate(place.template), place.service)) }
        (self.own, self.reserved, self.webhooks) = (templates, places, Set(webhooks))
    }

    /// No path is taken, and no `Authorization` header leaves the gateway.
    public init() { (own, reserved, webhooks) = ([], [], []) }

    /// Why a descriptor may not have a header of requests; nil when it may.
    ///
    /// - Parameter name: in lower case.
    func problem(ofHeader name: String, at place: Place, for auth: MethodPolicy.Auth) -> String? {
        if name == "authorization", auth == .secret, webhooks.contains(place) { return nil }
        let isPrivate = Self.credentials.contains(name) || name == "call" || Self.internals.contains { name.hasPrefix($0) }
        return isPrivate ? "takes the header \(name), which does not leave the gateway" : nil
    }

    /// Headers that sign a user in.
    private static let credentials: Set<String> = [
        "authorization", "cookie", "cookie2", "proxy-authorization", "set-cookie", "set-cookie2",
    ]
    /// What the names of the platform's own headers begin with.
    private static let internals = [
        "principal-", "seal", "nats-", "idempotency-key", "client-address", "deadline", "last-event-id", "request-id",
        "traceparent", "tracestate",
    ]

    /// Why a service may not have a path, whatever other services have; nil when it may.
    func problem(of route: Route) -> String? {
        if own.contains(where: { $0.overlaps(route.pattern) }) { return "the path is the gateway's own" }
        if let holder = reserved.first(where: { $0.template.overlaps(route.pattern) })?.service, holder != route.service {
            return "the path is kept for \(holder)"
        }
        return nil
    }
}

// Which templates lead to the same paths.
extension PathTemplate {
    /// Whether a wildcard stands where it would take the paths of others: at the root, right below `/api`, or, for the rest of a path, after
    /// fewer than two literals.
    var takesPathsOfOthers: Bool {
        let literals = segments.prefix { if case .literal = $0 { true } else { false } }
        if literals.count == segments.count { return false }
        let least = segments.last == .rest || segments.first == .literal(Array("api".utf8)) ? 2 : 1
        return literals.count < least
    }

    /// Whether a path may lead to both.
    func overlaps(_ other: PathTemplate) -> Bool {
        if case .apart = meeting(other) { false } else { true }
    }

    /// How the paths of two templates meet.
    enum Meeting: Equatable {
        /// No path leads to both.
        case apart
        /// They match the same paths.
        case same
        /// Some path leads to both. They differ first in this segment, and there the first one's is the better match, or it is not.
        case meets(at: Int, isFirstBetter: Bool)
    }

    /// How the paths of this one and another meet.
    func meeting(_ other: PathTemplate) -> Meeting {
        var difference: Meeting?
        for index in 0..<max(segments.count, other.segments.count) {
            let own = index < segments.count ? segments[index] : nil
            let others = index < other.segments.count ? other.segments[index] : nil
            if own == others {
                if own == .rest { break }
                continue
            }
            if case .literal = own, case .literal = others { return .apart }
            if own == nil, others != .rest { return .apart }
            if others == nil, own != .rest { return .apart }
            if difference == nil { difference = .meets(at: index, isFirstBetter: Self.rank(own) > Self.rank(others)) }
            if own == .rest || others == .rest { break }
        }
        return difference ?? .same
    }

    /// A literal beats a variable, a variable the rest of a path; so does the end of a template.
    private static func rank(_ segment: Segment?) -> Int {
        switch segment {
        case nil, .literal: 2
        case .any: 1
        case .rest: 0
        }
    }
}

extension Route {
    /// Whether one of two routes of different services would get requests that are the other's: some path leads to both, and what the worse
    /// match loses could be a value of its variable. `/api/streaks/snap` takes nothing from `/api/streaks/{streak_id}`, whose ids are UUIDs.
    func takesPaths(with other: Route) -> Bool {
        guard case .meets(let index, let isBetter) = pattern.meeting(other.pattern) else { return false }
        let (winner, loser) = isBetter ? (self, other) : (other, self)
        guard index < winner.pattern.segments.count, case .literal(let text) = winner.pattern.segments[index] else { return true }
        return loser.canHold(text, at: index)
    }

    /// Whether a text may be the value of the variable in a segment.
    private func canHold(_ text: [UInt8], at index: Int) -> Bool {
        guard let variable = pattern.variables.first(where: { $0.segments == index..<(index + 1) }),
            let field = set.message(named: requestType)?.fields.first(where: { $0.name == variable.fieldPath })
        else { return true }
        // 32 digits and four hyphens.
        return field.rules.format != .uuid || text.count == 36
    }
}
