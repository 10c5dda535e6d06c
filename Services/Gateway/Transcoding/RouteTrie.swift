/// Templates by segment. A tree, so that a match visits each node at most once whatever the path: at a node with both a literal and a
/// parameter it tries the literal first and comes back only to nodes it has not seen.
struct RouteTrie: Sendable {
    private struct Node: Sendable {
        /// Sorted by text.
        var literals: [(text: [UInt8], node: Int)] = []
        var parameter = -1
        var rest = -1
        /// Routes that end here, by verb.
        var routes: [(verb: String, route: Int)] = []
    }

    private var nodes = [Node()]

    /// Adds a route.
    ///
    /// - Returns: the route that has this verb and template shape already; nil when it was free and is taken now.
    mutating func insert(_ segments: [PathTemplate.Segment], verb: String, route: Int) -> Int? {
        var node = 0
        for segment in segments { node = child(of: node, segment) }
        if let taken = nodes[node].routes.first(where: { $0.verb == verb }) { return taken.route }
        nodes[node].routes.append((verb, route))
        return nil
    }

    private mutating func child(of node: Int, _ segment: PathTemplate.Segment) -> Int {
        let fresh = nodes.count
        switch segment {
        case .literal(let text):
            let place = nodes[node].literals.firstIndex { !$0.text.lexicographicallyPrecedes(text) } ?? nodes[node].literals.count
            if place < nodes[node].literals.count, nodes[node].literals[place].text == text {
                return nodes[node].literals[place].node
            }
            nodes[node].literals.insert((text, fresh), at: place)
        case .any:
            if nodes[node].parameter >= 0 { return nodes[node].parameter }
            nodes[node].parameter = fresh
        case .rest:
            if nodes[node].rest >= 0 { return nodes[node].rest }
            nodes[node].rest = fresh
        }
        nodes.append(Node())
        return fresh
    }

    /// What a path leads to, with the verb or without.
    enum Match: Equatable {
        case route(Int)
        /// The template that fits takes these verbs only.
        case otherVerbs([String])
        case nothing
    }

    /// The route for the segments: the template that fits best is found first, whatever its verbs, so that a literal is never taken for the
    /// value of a variable (`DELETE /api/friends/search` must not remove a friend of that id).
    func match(_ segments: [[UInt8]], verb: String) -> Match {
        guard let end = end(segments, at: 0, node: 0) else { return .nothing }
        // HEAD is GET without the body (RFC 9110 §9.3.2).
        let wanted = verb == "HEAD" ? "GET" : verb
        let routes = nodes[end].routes
        if let entry = routes.first(where: { $0.verb == wanted }) { return .route(entry.route) }
        return .otherVerbs(routes.map(\.verb))
    }

    /// The node where the best template for the segments ends: leftmost literals win.
    private func end(_ segments: [[UInt8]], at index: Int, node: Int) -> Int? {
        if index == segments.count {
            if !nodes[node].routes.isEmpty { return node }
            return nodes[node].rest >= 0 ? nodes[node].rest : nil
        }
        let segment = segments[index]
        if let next = literal(node, segment), let found = end(segments, at: index + 1, node: next) { return found }
        // An empty segment (a double or trailing slash) is nothing a variable could hold.
        if nodes[node].parameter >= 0, !segment.isEmpty,
            let found = end(segments, at: index + 1, node: nodes[node].parameter)
        {
            return found
        }
        return nodes[node].rest >= 0 ? nodes[node].rest : nil
    }

    private func literal(_ node: Int, _ text: [UInt8]) -> Int? {
        var low = 0
        var high = nodes[node].literals.count
        while low < high {
            let middle = (low + high) / 2
            if nodes[node].literals[middle].text.lexicographicallyPrecedes(text) { low = middle + 1 } else { high = middle }
        }
        guard low < nodes[node].literals.count, nodes[node].literals[low].text == text else { return nil }
        return nodes[node].literals[low].node
    }
}
