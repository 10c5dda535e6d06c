import Kernel
import MediaDomain

/// The rule of PL-4 by comparing everything with everything. It shares no code with what it checks.
enum ClusterModel {
    /// What is compared of a cluster.
    struct Group {
        let id: String
        let kind: String
        let latitude: Double
        let longitude: Double
        let radius: Double
        let members: [PostID]
    }

    /// All clusters, sorted by id.
    static func clusters(_ pins: [PlacePin]) -> [Group] {
        let chains = chains(pins)
        let (large, others) = (chains.filter { $0.count >= 4 }, chains.filter { $0.count < 4 })
        return (merged(large).map { group($0, "large") } + others.map { group($0, $0.count > 1 ? "small" : "single") })
            .sorted { $0.id < $1.id }
    }

    /// Whether the circle of a chain may reach into a box, by the distances of its posts alone.
    static func mayReach(_ chain: [PlacePin], into box: GeoBox) -> Bool {
        let first = chain[0].position
        let farthest = chain.map { metres(first, $0.position) }.max() ?? 0
        // The centre is not farther from the first than twice that, nor from any other.
        return box.padded(by: 4 * farthest + 400).contains(first)
    }

    /// Posts that a chain of neighbours connects.
    static func chains(_ pins: [PlacePin]) -> [[PlacePin]] {
        var unvisited = Set(pins.indices)
        var chains: [[PlacePin]] = []
        while let start = unvisited.popFirst() {
            var queue = [start]
            var found = [pins[start]]
            while let next = queue.popLast() {
                for other in unvisited where metres(pins[next].position, pins[other].position) <= 2_000 {
                    unvisited.remove(other)
                    queue.append(other)
                    found.append(pins[other])
                }
            }
            chains.append(found)
        }
        return chains
    }

    /// Joins clusters whose circles overlap, once.
    private static func merged(_ clusters: [[PlacePin]]) -> [[PlacePin]] {
        let circles = clusters.map { group($0, "large") }
        var labels = Array(circles.indices)
        for one in circles.indices {
            for other in circles.indices where other > one {
                let apart = metres(
                    circles[one].latitude,
                    circles[one].longitude,
                    circles[other].latitude,
                    circles[other].longitude
                )
                guard apart < circles[one].radius + circles[other].radius, labels[one] != labels[other] else { continue }
                let (kept, replaced) = (labels[one], labels[other])
                labels = labels.map { $0 == replaced ? kept : $0 }
            }
        }
        return Set(labels).map { label in circles.indices.filter { labels[$0] == label }.flatMap { clusters[$0] } }
    }

    private static func group(_ pins: [PlacePin], _ kind: String) -> Group {
        let pins = pins.sorted { $0.id.description < $1.id.description }
        let text = pins.map(\.id.description).joined(separator: ",")
        var hash: UInt64 = 14_695_981_039_346_656_037
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
        let digits = String(hash, radix: 16)
        let latitude = pins.reduce(0) { $0 + $1.position.latitude } / Double(pins.count)
        let start = pins[0].position.longitude
        let longitude =
            pins.reduce(0) { sum, pin in
                let longitude = pin.position.longitude
                return sum + (longitude - start > 180 ? longitude - 360 : longitude - start < -180 ? longitude + 360 : longitude)
            } / Double(pins.count)
        let farthest = pins.map { metres(latitude, longitude, $0.position.latitude, $0.position.longitude) }.max() ?? 0
        return Group(
            id: String(repeating: "0", count: 16 - digits.count) + digits,
            kind: kind,
            latitude: latitude,
            longitude: longitude,
            radius: pins.count > 1 ? farthest + 200 : 0,
            members: pins.map(\.id)
        )
    }

    private static func metres(_ one: Coordinate, _ other: Coordinate) -> Double {
        metres(one.latitude, one.longitude, other.latitude, other.longitude)
    }

    /// The haversine formula as every tutorial has it.
    private static func metres(_ latitude1: Double, _ longitude1: Double, _ latitude2: Double, _ longitude2: Double) -> Double {
        let (one, other) = (latitude1 * .pi / 180, latitude2 * .pi / 180)
        let north = (latitude2 - latitude1) * .pi / 180
        let east = (longitude2 - longitude1) * .pi / 180
        let (a, b) = (Functions.sine(north / 2), Functions.sine(east / 2))
        let h = a * a + Functions.cosine(one) * Functions.cosine(other) * b * b
        return 2 * 6_371_000 * Functions.angle(y: h.squareRoot(), x: max(0, 1 - h).squareRoot())
    }
}
