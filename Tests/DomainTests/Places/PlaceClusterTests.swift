import Kernel
import MediaDomain
import TestSupport
import Testing

struct PlaceClusterTests {
    private static func all(_ clusters: PlaceClusters) -> [PlaceCluster] {
        (clusters.large + clusters.small + clusters.single).sorted { $0.id < $1.id }
    }

    @Test(arguments: PinSet.allCases) func `agrees with the rule by brute force`(set: PinSet) {
        var sizes = Set<Int>()
        var mergers = 0
        for seed in 0..<20 as Range<UInt64> {
            var random = Seeded(seed &* 31 &+ 7)
            let pins = set.pins([1, 3, 4, 12, 60, set == .islands ? 600 : 150][Int(seed % 6)], &random)
            let clusters = PlaceClusters(pins.shuffled(using: &random))
            let (found, expected) = (Self.all(clusters), ClusterModel.clusters(pins))
            #expect(found.map(\.id) == expected.map(\.id), "\(set) \(seed)")
            for (one, other) in zip(found, expected) where one.id == other.id {
                #expect(one.members == other.members && one.kind.rawValue == other.kind && one.count == other.members.count)
                #expect(abs(one.radius - other.radius) < 1e-6, "\(set) \(seed)")
                #expect(abs(one.center.latitude - other.latitude) < 1e-6)
                let east = one.center.longitude - other.longitude
                #expect(abs(east.remainder(dividingBy: 360)) < 1e-6, "\(set) \(seed)")
                sizes.insert(one.count)
            }
            mergers += clusters.large.count
        }
        // The sets are what they claim: most have large clusters, and not everything is one.
        #expect(sizes.count > 2, "\(set)")
        #expect(mergers > 0 || set == .world, "\(set)")
    }

    @Test func `posts at exactly the distance are neighbours, and a millionth of a millimetre farther they are not`() {
        var random = Seeded(41)
        var (joined, apart) = (0, 0)
        for _ in 0..<4_000 {
            let start = place(random.number(-89.9...89.9), random.chance(30) ? 180 : random.number(-180...180))
            let other = start.moved(2_000 + random.number(-2e-9...2e-9), bearing: random.number(0...360))
            let pins = [start, other].map { PlacePin(id: random.post(), position: $0) }
            let isPair = PlaceClusters(pins).small.count == 1
            #expect(isPair == (start.distance(to: other) <= 2_000), "\(start) \(other)")
            if isPair { joined += 1 } else { apart += 1 }
        }
        #expect(joined > 500 && apart > 500)
    }

    @Test func `kinds are by the number of posts`() {
        var random = Seeded(42)
        for (count, kind) in [(1, PlaceCluster.Kind.single), (2, .small), (3, .small), (4, .large), (5, .large)] {
            let pins = (0..<count).map { PlacePin(id: random.post(), position: place(0.001 * Double($0), 0)) }
            let clusters = Self.all(PlaceClusters(pins))
            #expect(clusters.map(\.kind) == [kind] && clusters[0].count == count)
            // The mean is in the middle, the circle 200 m wider than the way to the farthest.
            let span = 0.001 * Double(count - 1) * 111_194.926_6
            #expect(abs(clusters[0].radius - (count == 1 ? 0 : span / 2 + 200)) < 0.001)
        }
        #expect(Self.all(PlaceClusters([])).isEmpty)
    }

    @Test func `the id is FNV-1a of the ids in order, as a published vector has it`() {
        let ids = [PostID(high: 2, low: 0), PostID(high: 1, low: 5)]
        let pins = ids.map { PlacePin(id: $0, position: place(50, 8)) }
        let text = "00000000-0000-0001-0000-000000000005,00000000-0000-0002-0000-000000000000"
        let cluster = PlaceClusters(pins).small[0]
        #expect(cluster.members.map(\.description).joined(separator: ",") == text)
        #expect(cluster.id == "d06bdf21fdaac925")
        #expect(PlaceCluster(pins[1]).id == "bd1de959a32db2b1")
    }

    @Test func `circles that overlap are joined once, and not again for what the larger circle reaches`() {
        var random = Seeded(43)
        func pin(_ position: Coordinate) -> PlacePin { PlacePin(id: random.post(), position: position) }
        // A chain of 5.7 km to the east: its circle has a radius of 3,050 m.
        func chain(north: Double) -> [PlacePin] {
            (0..<4).map { pin(place(0, 0).moved(north, bearing: 0).moved(1_900 * Double($0), bearing: 90)) }
        }
        #expect(PlaceClusters(chain(north: 0) + chain(north: 6_110)).large.map(\.count) == [4, 4])
        let pair = chain(north: 0) + chain(north: 5_000)
        let joined = PlaceClusters(pair).large
        #expect(joined.map(\.count) == [8])
        // Four posts at one spot that only the circle of both reaches: no post is within 2 km, and the two circles end before.
        let spot = joined[0].center.moved(3_000, bearing: 90)
        let clusters = PlaceClusters(pair + (0..<4).map { _ in pin(spot) }).large
        #expect(clusters.map(\.count).sorted() == [4, 8])
        #expect(clusters[0].center.distance(to: clusters[1].center) < clusters[0].radius + clusters[1].radius)
        // Between them, they are connected through it.
        let middle = place(0, 0).moved(3_055, bearing: 0).moved(2_850, bearing: 90)
        #expect(PlaceClusters(chain(north: 0) + chain(north: 6_110) + (0..<4).map { _ in pin(middle) }).large.count == 1)
    }

    @Test func `a cluster over the antimeridian has its centre there`() {
        var random = Seeded(44)
        let pins = [179.99, -179.99, 179.995, -179.995].map { PlacePin(id: random.post(), position: place(10, $0)) }
        let cluster = PlaceClusters(pins).large[0]
        #expect(abs(abs(cluster.center.longitude) - 180) < 1e-9 && cluster.radius < 1_400)
    }

    @Test func `what a map shows is by its zoom`() {
        #expect([0, 7.99].map(MapDetail.init) == [.circles, .circles])
        #expect([8, 10.99].map(MapDetail.init) == [.clusters, .clusters])
        #expect([11, 22].map(MapDetail.init) == [.pins, .pins])
        var random = Seeded(45)
        let pins = PinSet.clumps.pins(60, &random) + PinSet.world.pins(20, &random)
        let clusters = PlaceClusters(pins)
        #expect(clusters.shown(.circles) == clusters.large)
        #expect(clusters.shown(.clusters) == clusters.large + clusters.small + clusters.single)
        let shown = clusters.shown(.pins)
        #expect(Array(shown.prefix(clusters.large.count)) == clusters.large)
        let single = shown.dropFirst(clusters.large.count)
        #expect(single.allSatisfy { $0.kind == .single && $0.radius == 0 })
        #expect(Set(single.map { PlacePin(id: $0.members[0], position: $0.center) }) == Set(pins))
        // A post has the same id as a pin and as a cluster by itself.
        #expect(Set(clusters.single).isSubset(of: Set(single)))
    }

    /// The posts of whole chains are found by where their circles may reach at most, as the service finds them.
    @Test(arguments: PinSet.allCases)
    func `clusters that touch a box are the same when only posts whose circles may reach there are known`(set: PinSet) {
        var random = Seeded(47)
        var known = 0
        for _ in 0..<30 {
            let pins = set.pins(150, &random)
            let all = PlaceClusters(pins)
            let chains = ClusterModel.chains(pins)
            let middle = random.pick(pins).position
            let box = Seeded.box(middle, width: random.number(0...0.05), height: random.number(0...0.05))
            var found: [PlacePin] = []
            var some = PlaceClusters([])
            var (areas, waiting) = ([box], chains)
            while !areas.isEmpty {
                let near = waiting.filter { chain in areas.contains { ClusterModel.mayReach(chain, into: $0) } }
                waiting.removeAll { near.contains($0) }
                found += near.flatMap { $0 }
                some = PlaceClusters(found)
                areas = near.isEmpty ? [] : some.circles(touching: box)
            }
            known += found.count
            for detail in MapDetail.allCases { #expect(some.shown(detail, in: box) == all.shown(detail, in: box), "\(box)") }
        }
        // Most posts were not needed where they are far apart.
        if set == .world || set == .brokenLine { #expect(known < 30 * 150 * 3 / 4, "\(known)") }
    }

    @Test func `panning changes no cluster, and leaves out what the box does not reach`() {
        var random = Seeded(46)
        for round in 0..<40 {
            let set = [PinSet.clumps, .antimeridian, .northPole, .world][round % 4]
            let pins = set.pins(120, &random)
            let clusters = PlaceClusters(pins)
            let middle = random.pick(pins).position
            let box = Seeded.box(middle, width: random.number(0.01...0.3), height: random.number(0.01...0.1))
            for detail in MapDetail.allCases {
                let (all, shown) = (clusters.shown(detail), Set(clusters.shown(detail, in: box)))
                #expect(shown.isSubset(of: Set(all)))
                for cluster in all {
                    let hasMember = cluster.members.contains { id in
                        pins.contains { $0.id == id && box.contains($0.position) }
                    }
                    // A circle reaches as far as its farthest member: what has a post in the box is always shown.
                    if hasMember { #expect(shown.contains(cluster)) }
                    if cluster.kind == .single { #expect(shown.contains(cluster) == hasMember) }
                }
            }
        }
    }
}
