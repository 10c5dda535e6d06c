import Kernel
import MediaDomain
import TestSupport
import Testing

struct PlaceKeyTests {
    @Test func `keys are in the order of their bits`() {
        #expect(PlaceKey(place(-90, -180)).value == .min)
        #expect(PlaceKey(place(90, 179.999_999_999_9)).value == .max)
        // The first bit is the half of the longitude, the second that of the latitude.
        #expect(PlaceKey(place(0, 0)).value == 1 << 62)
        #expect(PlaceKey(place(-1, 1)) > PlaceKey(place(90, -1)))
        #expect(PlaceKey(place(1, 1)) > PlaceKey(place(-1, 1)))
    }

    @Test func `every point of a box is in a range, and the ranges are as many as asked for`() {
        var random = Seeded(11)
        for _ in 0..<1_500 {
            let box = random.box()
            let most = random.pick([1, 2, 7, 16, 32, 64])
            let ranges = PlaceKey.ranges(covering: box, most: most)
            #expect((1...most).contains(ranges.count), "\(box)")
            #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            let corners = [0.0, 1e-12, 0.5, 1 - 1e-12, 1]
            for x in corners + [random.number(0...1)] {
                for y in corners + [random.number(0...1)] {
                    let point = place(box.south + box.height * y, box.west + box.width * x)
                    guard box.contains(point) else { continue }
                    let key = PlaceKey(point).value
                    #expect(ranges.contains { $0.contains(key) }, "\(box) \(point)")
                }
            }
        }
    }

    @Test func `every point of a box is in a cell, and the cells inside have no others`() {
        var random = Seeded(13)
        for _ in 0..<3_000 {
            let box = random.box()
            let bits = random.pick([2, 8, 14, 20, 26, 32, 62])
            guard let cells = PlaceCells(covering: box, bits: bits, most: 64) else {
                // A cell is that wide and high: the box has more of them, or touches more.
                let side = 360 / Double(1 << UInt64(bits / 2))
                #expect((box.width / side + 2) * (box.height / side * 2 + 2) > 64, "\(box) \(bits)")
                continue
            }
            #expect(cells.all.count <= 64 && cells.all == Set(cells.all).sorted() && Set(cells.inside).isSubset(of: cells.all))
            let corners = [0.0, 1e-12, 0.5, 1 - 1e-12, 1]
            for x in corners + [random.number(0...1)] {
                for y in corners + [random.number(0...1)] {
                    let point = place(box.south + box.height * y, box.west + box.width * x)
                    guard box.contains(point) else { continue }
                    #expect(cells.all.contains(PlaceKey(point).value >> Int64(64 - bits)), "\(box) \(point) \(bits)")
                }
            }
            for cell in cells.inside {
                let first = cell << Int64(64 - bits)
                let key = first | Int64.random(in: 0..<(1 << Int64(64 - bits)), using: &random)
                let ranges = PlaceKey.ranges(covering: box, most: 512)
                #expect(ranges.contains { $0.contains(first) && $0.contains(key) }, "\(box) \(cell) \(bits)")
            }
        }
    }

    @Test func `points of a small grid: those in ranges are those in the box, but for the excess`() {
        var random = Seeded(12)
        // Every point of a grid of 64 × 64 cells of the curve, by brute force.
        for _ in 0..<60 {
            let west = Double(Int.random(in: -64..<64, using: &random)) * 2.8125
            let south = Double(Int.random(in: -32..<32, using: &random)) * 2.8125 - 0.4
            let box = Seeded.box(place(south, west), width: random.number(1...120), height: random.number(1...60))
            let ranges = PlaceKey.ranges(covering: box, most: 32)
            var (inside, covered) = (0, 0)
            for column in 0..<128 {
                for row in 0..<128 {
                    let point = place(Double(row) * 1.40625 - 89.5, Double(column) * 2.8125 - 179)
                    let isCovered = ranges.contains { $0.contains(PlaceKey(point).value) }
                    if box.contains(point) {
                        inside += 1
                        #expect(isCovered)
                    }
                    if isCovered { covered += 1 }
                }
            }
            #expect(covered <= inside * 2 + 40, "\(box): \(covered) for \(inside)")
        }
    }

    @Test(arguments: [(4, 4.0), (16, 1.0), (32, 0.5), (64, 0.3)]) func `the excess is small, and the smaller the more ranges`(
        most: Int,
        limit: Double
    ) {
        var random = Seeded(13)
        var total = 0.0
        let rounds = 600
        for _ in 0..<rounds {
            // As a map: a city or a country, up to four times as wide as high.
            let height = random.pick([0.01, 0.2, 3, 20]) * random.number(0.5...1)
            let center = place(random.number(-70...70), random.number(-180...180))
            let box = Seeded.box(center, width: height * random.number(0.5...4), height: height)
            let area = box.width / 360 * box.height / 180
            let covered = PlaceKey.ranges(covering: box, most: most).reduce(0.0) {
                $0 + (Double($1.upperBound) - Double($1.lowerBound) + 1) / 18_446_744_073_709_551_616
            }
            #expect(covered >= area * 0.999)
            total += covered / area - 1
        }
        #expect(total / Double(rounds) < limit, "\(total / Double(rounds))")
    }

    @Test func `a box that is the cell of a geohash is one range`() {
        var random = Seeded(14)
        for length in 1...9 {
            let hash = Geohash(random.place(), length: length)
            let ranges = PlaceKey.ranges(covering: hash.box, most: 64)
            // The box has its north and east edges, which the cell has not.
            #expect(ranges.contains { $0.lowerBound <= hash.keys.lowerBound && hash.keys.upperBound <= $0.upperBound })
        }
    }
}
