import Kernel
import MediaDomain
import TestSupport

/// Where posts can lie: at random, and where clustering goes wrong most easily.
enum PinSet: String, CaseIterable {
    /// In a city of 30 km.
    case city
    /// All over the earth, a few near each other.
    case world
    /// A chain: each 1.9 km from the next.
    case line
    /// A chain in which some links are 2.1 km long.
    case brokenLine
    /// Pairs and chains of 2 km, give or take a tenth of a millimetre.
    case exactly
    /// On both sides of the antimeridian.
    case antimeridian
    case northPole
    case southPole
    /// Many posts at few spots.
    case duplicates
    /// Dense clumps, 2 to 6 km from each other: circles overlap that no chain connects.
    case clumps
    /// A long chain around clumps: a circle that covers others.
    case ring
    /// Short chains in all directions: some are connected, some only overlap, some are apart.
    case islands
    /// A grid of spots just less or more than 2 km from each other.
    case lattice

    /// Posts, in no order.
    func pins(_ count: Int, _ random: inout Seeded) -> [PlacePin] {
        positions(count, &random).map { PlacePin(id: random.post(), position: $0) }
    }

    private func positions(_ count: Int, _ random: inout Seeded) -> [Coordinate] {
        let center = place(random.number(-75...75), random.number(-180...180))
        switch self {
        case .city: return (0..<count).map { _ in random.place(near: center, within: 15_000) }
        case .world: return Self.pairs(count, &random)
        case .line: return Self.chain(count, from: random.place(), &random) { _ in 1_900 }
        case .brokenLine: return Self.chain(count, from: random.place(), &random) { $0.chance(20) ? 2_100 : 1_900 }
        case .exactly:
            return Self.chain(count, from: center, &random) { 2_000 + $0.pick([-1e-4, 1e-4, -1e-3, 1e-3]) }
        case .antimeridian:
            let start = place(random.number(-80...80), 180)
            return (0..<count).map { _ in random.place(near: start, within: 12_000) }
        case .northPole, .southPole:
            let pole = self == .northPole ? 90.0 : -90
            return (0..<count).map { index in
                index < 3 ? place(pole, random.number(-180...180)) : random.place(near: place(pole, 0), within: 12_000)
            }
        case .duplicates:
            let spots = (0..<max(1, count / 10)).map { _ in random.place(near: center, within: 12_000) }
            return (0..<count).map { _ in random.pick(spots) }
        case .clumps:
            let start = random.chance(30) ? place(random.pick([-89.99, 0, 89.99]), 180) : center
            let spots = (0..<max(1, count / 7)).map { _ in random.place(near: start, within: 9_000) }
            return (0..<count).map { _ in random.place(near: random.pick(spots), within: 500) }
        case .ring:
            let around = (0..<count / 2).map { index in
                center.moved(Double(count / 2) * 1_900 / 6.2, bearing: Double(index) * 720 / Double(count))
            }
            return around + (0..<count - count / 2).map { _ in random.place(near: center, within: Double(count) * 150) }
        case .islands:
            return (0..<count / 6 + 1).flatMap { _ in
                let start = random.place(near: center, within: (3.2 * Double(count)).squareRoot() * 1_000)
                return Self.chain(6, from: start, &random) { _ in 1_900 }
            }
        case .lattice:
            let side = max(1, Int(Double(count).squareRoot()))
            let step = random.pick([1_990.0, 2_010])
            return (0..<count).map { index in
                let up = center.moved(Double(index / side) * step, bearing: 0)
                return up.moved(Double(index % side) * step, bearing: 90)
            }
        }
    }

    private static func pairs(_ count: Int, _ random: inout Seeded) -> [Coordinate] {
        var places: [Coordinate] = []
        while places.count < count {
            let isNear = !places.isEmpty && random.chance(40)
            places.append(isNear ? random.place(near: random.pick(places), within: 4_000) : random.place())
        }
        return places
    }

    private static func chain(
        _ count: Int,
        from start: Coordinate,
        _ random: inout Seeded,
        step: (inout Seeded) -> Double
    ) -> [Coordinate] {
        let bearing = random.pick([0, 90, random.number(0...360)])
        var places = [start]
        while places.count < count {
            let last = places[places.count - 1]
            places.append(last.moved(step(&random), bearing: bearing))
        }
        return places.shuffled(using: &random)
    }
}
