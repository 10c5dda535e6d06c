public import Kernel
public import MediaDomain

/// The clusters of PL-4 by comparing every post with every other. It shares no code with what it checks but distances and boxes.
public enum SlowClusters {
    public struct Group {
        public let id: String
        public let kind: String
        public let center: Coordinate
        public let radius: Double
        public let members: [PostID]
        /// Of the circles it was joined from.
        var parts: [(center: Coordinate, radius: Double)] = []
    }

    /// What a map shows of a box, by id.
    public static func shown(_ pins: [PlacePin], in box: GeoBox, zoom: Double) -> [String: Group] {
        let chains = chains(pins)
        let large = joined(chains.filter { $0.count >= 4 }.map { group($0, "large") }, pins)
        let circles = large.filter { $0.parts.contains { box.padded(by: $0.radius).contains($0.center) } }
        let others: [Group] =
            if zoom < 8 {
                []
            } else if zoom < 11 {
                chains.filter { $0.count < 4 }.map { group($0, $0.count > 1 ? "small" : "single") }
                    .filter { box.padded(by: $0.radius).contains($0.center) }
            } else {
                pins.filter { box.contains($0.position) }.map { group([$0], "single") }
            }
        return Dictionary((circles + others).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func chains(_ pins: [PlacePin]) -> [[PlacePin]] {
        var (left, chains) = (pins, [[PlacePin]]())
        while let start = left.popLast() {
            var chain = [start]
            var next = 0
            while next < chain.count {
                let near = left.filter { $0.position.distance(to: chain[next].position) <= 2_000 }
                left.removeAll { near.contains($0) }
                chain += near
                next += 1
            }
            chains.append(chain)
        }
        return chains
    }

    private static func joined(_ circles: [Group], _ pins: [PlacePin]) -> [Group] {
        var labels = Array(circles.indices)
        for one in circles.indices {
            for other in circles.indices
            where circles[one].center.distance(to: circles[other].center) < circles[one].radius + circles[other].radius {
                let (kept, replaced) = (labels[one], labels[other])
                labels = labels.map { $0 == replaced ? kept : $0 }
            }
        }
        return Set(labels).map { label in
            let parts = circles.indices.filter { labels[$0] == label }.map { circles[$0] }
            let members = Set(parts.flatMap(\.members))
            var whole = group(pins.filter { members.contains($0.id) }, "large")
            whole.parts = parts.map { ($0.center, $0.radius) }
            return whole
        }
    }

    private static func group(_ pins: [PlacePin], _ kind: String) -> Group {
        let pins = pins.sorted { $0.id.description < $1.id.description }
        var hash: UInt64 = 14_695_981_039_346_656_037
        for byte in pins.map(\.id.description).joined(separator: ",").utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
        let digits = String(hash, radix: 16)
        let first = pins[0].position.longitude
        let longitudes = pins.map { pin in
            let east = pin.position.longitude - first
            return first + (east > 180 ? east - 360 : east < -180 ? east + 360 : east)
        }
        let count = Double(pins.count)
        let center = Coordinate(
            nearestLatitude: pins.reduce(0) { $0 + $1.position.latitude } / count,
            longitude: longitudes.reduce(0, +) / count
        )
        let farthest = pins.map { center.distance(to: $0.position) }.max() ?? 0
        return Group(
            id: String(repeating: "0", count: 16 - digits.count) + digits,
            kind: kind,
            center: center,
            radius: pins.count > 1 ? farthest + 200 : 0,
            members: pins.map(\.id)
        )
    }
}
