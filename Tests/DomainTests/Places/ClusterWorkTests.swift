import Kernel
import MediaDomain
import TestSupport
import Testing

/// The number of distances that clustering computes grows as the posts do (PL-4). Counted, not timed.
struct ClusterWorkTests {
    /// Sets on which a scan of neighbours, or of pairs of circles, is quadratic.
    enum Crowd: String, CaseIterable {
        /// All at one spot.
        case spot
        /// All within 300 m.
        case clump
        /// A street: one post each 10 m.
        case street
        /// A chain with links of 1.9 km, a third of the way around the earth and more.
        case chain
        /// A city of 20 km.
        case city
        /// Two clumps that nearly touch: their nearest posts are half a metre too far from each other.
        case twins
        /// A clump, and an arc around it: all of it a micrometre too far away.
        case arc
        /// An arc around a single spot, one nanometre too far away, as far as numbers can have it.
        case razor
        /// Circles of four posts, each as near to the next as it can be.
        case circles
        /// Long chains beside each other, with circles that cover thousands of small ones between them.
        case rails
        /// All over the earth.
        case world

        func pins(_ count: Int) -> [PlacePin] {
            var random = Seeded(77)
            let center = place(48, 11)
            return (0..<count).map { index in
                PlacePin(id: random.post(), position: position(index, of: count, from: center, &random))
            }
        }

        private func position(_ index: Int, of count: Int, from center: Coordinate, _ random: inout Seeded) -> Coordinate {
            let share = Double(index) / Double(count)
            switch self {
            case .spot: return center
            case .clump: return random.place(near: center, within: 300)
            case .street: return place(0, 0).moved(Double(index) * 10, bearing: 60)
            case .chain: return place(Double(index / 20_000) * 3 - 30, Double(index % 20_000) * 0.017 - 170)
            case .city: return random.place(near: center, within: 20_000)
            case .twins:
                let other = center.moved(2_600.5, bearing: 90)
                return random.place(near: index.isMultiple(of: 2) ? center : other, within: 300)
            case .arc:
                if index.isMultiple(of: 2) { return random.place(near: center, within: 10) }
                return center.moved(2_010.000_001, bearing: share * 360)
            case .razor: return index.isMultiple(of: 2) ? center : center.moved(2_000 + 1e-9, bearing: share * 360)
            case .circles:
                let side = Int((Double(count) / 4).squareRoot()) + 1
                let row = place(0, 0).moved(Double(index / 4 / side) * 2_050, bearing: 0)
                return row.moved(Double(index / 4 % side) * 2_050, bearing: 90)
            case .rails:
                // Half of the posts in chains 12 km apart, the others in fours in between.
                let long = 300
                let chain = index / 2 / long
                let step = Double(index / 2 % long) * 1_900
                let start = place(-40, 0).moved(Double(chain) * 12_000, bearing: 0)
                if index.isMultiple(of: 2) { return start.moved(step, bearing: 90) }
                return start.moved(6_000, bearing: 0).moved(Double(index / 8 % 75) * 2 * 3_700, bearing: 90)
            case .world: return random.place()
            }
        }
    }

    @Test(arguments: Crowd.allCases) func `the work is near-linear up to 100,000 posts`(crowd: Crowd) {
        var before = 0.0
        for count in [25_000, 100_000] {
            let clusters = PlaceClusters(crowd.pins(count))
            let each = Double(clusters.distances) / Double(count)
            #expect(each < 60, "\(crowd) \(count): \(each) for a post")
            if before > 0 { #expect(each < before * 1.6 + 2, "\(crowd) \(count): \(before), then \(each) for a post") }
            before = each
            let members = (clusters.large + clusters.small + clusters.single).reduce(0) { $0 + $1.count }
            #expect(members == count)
        }
    }

    @Test func `a crowd at one spot and a street are one cluster`() {
        for crowd in [Crowd.spot, .clump, .street] {
            let clusters = PlaceClusters(crowd.pins(100_000))
            #expect(clusters.large.map(\.count) == [100_000] && clusters.small.isEmpty && clusters.single.isEmpty)
        }
        #expect(PlaceClusters(Crowd.razor.pins(2_000)).large.count <= 2)
    }
}
