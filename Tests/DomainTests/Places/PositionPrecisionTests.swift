import Kernel
import TestSupport
import Testing

@testable import MediaDomain

struct PositionPrecisionTests {
    private static let coarse: [PositionPrecision] = [.hundredMetres, .kilometre]

    @Test func `the words are those of requests`() {
        #expect(PositionPrecision.allCases.map(\.rawValue) == ["exact", "100m", "1km"])
        #expect(PositionPrecision.exact.position(of: place(52.123_456_789, 13.1)) == place(52.123_456_789, 13.1))
    }

    @Test(arguments: coarse) func `a coarse position is near, and coarse already`(precision: PositionPrecision) throws {
        let cell = try #require(precision.cell)
        var random = Seeded(51)
        for _ in 0..<4_000 {
            let pole = place(random.pick([-90, 90]), 0)
            let exact = random.chance(20) ? random.place(near: pole, within: 5 * cell) : random.place()
            let coarse = precision.position(of: exact)
            #expect(coarse.distance(to: exact) <= 1.1 * cell, "\(exact)")
            #expect(precision.position(of: coarse) == coarse, "\(exact)")
        }
        // Both sides of the antimeridian are cells of their own; 180 and -180 are the same.
        #expect(precision.position(of: place(0, 180)) == precision.position(of: place(0, -180)))
        #expect(precision.position(of: place(90, 17)) == precision.position(of: place(90, -120)))
    }

    @Test(arguments: coarse) func `no cell is smaller than it says, and none much larger`(precision: PositionPrecision) throws {
        let cell = try #require(precision.cell)
        let grid = MetreGrid(cell: cell)
        let height = Earth.halfway / Double(grid.rows)
        #expect(height >= cell && height < cell * 1.001)
        var random = Seeded(52)
        let rows = [0, 1, 2, grid.rows / 2, grid.rows - 3, grid.rows - 2, grid.rows - 1]
        for row in rows + (0..<3_000).map({ _ in Int.random(in: 0..<grid.rows, using: &random) }) {
            let columns = Double(grid.columns(row: row))
            guard columns > 1 else {
                #expect(row == 0 || row == grid.rows - 1)
                continue
            }
            let edges = [row, row + 1].map { edge in
                2 * Earth.halfway * Functions.cosine((Double(edge) / Double(grid.rows) - 0.5) * .pi) / columns
            }.sorted()
            #expect(edges[0] >= cell * 0.999_999, "\(row)")
            #expect(edges[1] <= cell * (row < 20 || row > grid.rows - 21 ? 2.2 : 1.1), "\(row)")
        }
    }

    /// What a stranger learns of a post by questions about the position that others see: distances found by halving the radius of a
    /// search, from many places, and the point that fits them best.
    private func trilaterated(_ shown: Coordinate, from start: Coordinate, _ random: inout Seeded) -> Coordinate {
        var distances: [(Coordinate, Double)] = []
        for _ in 0..<12 {
            let asked = random.place(near: start, within: 4_000)
            var (low, high) = (0.0, 20_000.0)
            for _ in 0..<40 {
                let radius = (low + high) / 2
                let isFound = GeoBox(around: asked, radius: radius).contains(shown) && asked.distance(to: shown) <= radius
                if isFound { high = radius } else { low = radius }
            }
            distances.append((asked, high))
        }
        func misfit(_ point: Coordinate) -> Double {
            distances.reduce(0) { sum, entry in
                let difference = entry.0.distance(to: point) - entry.1
                return sum + difference * difference
            }
        }
        var (best, step) = (start, 2_000.0)
        while step > 0.01 {
            let next = (0..<8).map { best.moved(step, bearing: Double($0) * 45) }.min { misfit($0) < misfit($1) } ?? best
            if misfit(next) < misfit(best) { best = next } else { step /= 2 }
        }
        return best
    }

    @Test func `trilateration finds an exact position, and of a coarse one nothing but the cell`() throws {
        var random = Seeded(53)
        for round in 0..<12 {
            let exact = place(random.number(-80...80), random.number(-180...180))
            let start = random.place(near: exact, within: 1_500)
            // The attack works.
            #expect(trilaterated(exact, from: start, &random).distance(to: exact) < 1)
            let precision = Self.coarse[round % 2]
            let cell = try #require(precision.cell)
            let shown = precision.position(of: exact)
            let found = trilaterated(shown, from: start, &random)
            #expect(found.distance(to: shown) < 1)
            // All points that have this answer: they fill a cell, from side to side, and so does the secret for all that is known.
            let same = (0..<2_000).map { _ in random.place(near: shown, within: cell) }.filter {
                precision.position(of: $0) == shown
            }
            let east = same.map { ($0.longitude - shown.longitude).remainder(dividingBy: 360) }
            let north = same.map { $0.latitude - shown.latitude }
            let degree = 111_194.926_6
            let width = ((east.max() ?? 0) - (east.min() ?? 0)) * degree * Functions.cosine(shown.latitude * .pi / 180)
            let height = ((north.max() ?? 0) - (north.min() ?? 0)) * degree
            #expect(width > cell * 0.9 && height > cell * 0.9, "\(shown): \(width) × \(height)")
        }
    }

    @Test func `many posts from one place show one position, however the device's position trembles`() throws {
        var random = Seeded(54)
        for precision in Self.coarse {
            let cell = try #require(precision.cell)
            for _ in 0..<200 {
                // Somewhere in the middle half of a cell.
                let home = random.place(near: precision.position(of: random.place()), within: cell * 0.2)
                let shown = Set((0..<30).map { _ in precision.position(of: random.place(near: home, within: cell * 0.2)) })
                #expect(shown.count == 1)
            }
        }
    }

    @Test func `the number of cells is finite: as many as posts, they do not get finer`() {
        var random = Seeded(55)
        let city = place(48.137, 11.575)
        let shown = Set(
            (0..<20_000).map { _ in PositionPrecision.kilometre.position(of: random.place(near: city, within: 2_000)) }
        )
        #expect((9...30).contains(shown.count))
    }
}
