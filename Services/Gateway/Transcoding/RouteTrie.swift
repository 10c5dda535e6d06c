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

    /// The best route for the segments: leftmost literals win; verbs that match elsewhere are collected in `allowed`.
    func match(_ segments: [[UInt8]], verb: String, allowed: inout Set<String>) -> Int? {
        match(segments, at: 0, node: 0, verb: verb, allowed: &allowed)
    }

    private func match(_ segments: [[UInt8]], at index: Int, node: Int, verb: String, allowed: inout Set<String>) -> Int? {
        if index == segments.count {
            return ending(node, verb: verb, allowed: &allowed)
                ?? (nodes[node].rest >= 0 ? ending(nodes[node].rest, verb: verb, allowed: &allowed) : nil)
        }
        let segment = segments[index]
        if let next = literal(node, segment),
            let found = match(segments, at: index + 1, node: next, verb: verb, allowed: &allowed)
        {
            return found
        }
        // An empty segment (a double or trailing slash) is nothing a variable could hold.
        if nodes[node].parameter >= 0, !segment.isEmpty,
            let found = match(segments, at: index + 1, node: nodes[node].parameter, verb: verb, allowed: &allowed)
        {
            return found
        }
        return nodes[node].rest >= 0 ? ending(nodes[node].rest, verb: verb, allowed: &allowed) : nil
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

    private func ending(_ node: Int, verb: String, allowed: inout Set<String>) -> Int? {
        // HEAD is GET without the body (RFC 9110 §9.3.2).
        let wanted = verb == "HEAD" ? "GET" : verb
        for entry in nodes[node].routes {
            if entry.verb == wanted { return entry.route }
            allowed.insert(entry.verb)
        }
        return nil
    }
}
