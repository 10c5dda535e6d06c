internal import Database
internal import Kernel
internal import MediaDomain

/// Cells that cover an area: all of one level, each with an index of its posts.
struct PostCells: Sendable {
    /// Cells whose points share so many leading bits of their keys. Each case is an index of the table for its order.
    enum Level: Int, Sendable {
        case bits26 = 26
        case bits20 = 20
        case bits14 = 14
        case bits8 = 8
        case world = 0

        /// The number of a key's cell.
        fileprivate func cell(of key: Int64) -> Int64 { self == .world ? 0 : key >> (64 - Int64(rawValue)) }

        /// The same as the indexes have it.
        fileprivate var cell: Query {
            switch self {
            case .bits26: "(p.place_key >> 38)"
            case .bits20: "(p.place_key >> 44)"
            case .bits14: "(p.place_key >> 50)"
            case .bits8: "(p.place_key >> 56)"
            case .world: "0"
            }
        }
    }

    let level: Level
    let numbers: [Int64]
    /// Those that lie within the area.
    let inside: [Int64]
    /// Of keys: the area that they cover.
    let ranges: [ClosedRange<Int64>]

    static let world = PostCells(level: .world, numbers: [0], inside: [], ranges: [.min ... .max])

    /// The levels that an order has indexes for, the finest first.
    static func levels(of order: PostSearch.Order) -> [Level] {
        order == .score ? [.bits26, .bits20, .bits14, .bits8] : [.bits26, .bits14]
    }

    /// The smallest cells that cover an area and are no more than `most`; the whole earth when there are none.
    ///
    /// - Parameters:
    ///   - box: the area, or a box around it.
    ///   - ranges: of keys that have all points of the area.
    ///   - isCell: whether the area is all of these ranges, and not the box.
    static func covering(
        _ box: GeoBox,
        _ ranges: [ClosedRange<Int64>],
        isCell: Bool = false,
        most: Int,
        levels: [Level]
    ) -> PostCells {
        for level in levels {
            if isCell, let (numbers, inside) = cells(of: ranges, level, most: most) {
                return PostCells(level: level, numbers: numbers, inside: inside, ranges: ranges)
            }
            if !isCell, let cells = PlaceCells(covering: box, bits: level.rawValue, most: most) {
                return PostCells(level: level, numbers: cells.all, inside: cells.inside, ranges: ranges)
            }
        }
        return PostCells(level: .world, numbers: [0], inside: [], ranges: ranges)
    }

    /// The cells that have keys of ranges, and those that have no others; nil when there are more than `most`.
    private static func cells(of ranges: [ClosedRange<Int64>], _ level: Level, most: Int) -> ([Int64], inside: [Int64])? {
        var (numbers, inside): ([Int64], [Int64]) = ([], [])
        let keys = Int64(1) << Int64(64 - level.rawValue) - 1
        for range in ranges {
            let (first, last) = (level.cell(of: range.lowerBound), level.cell(of: range.upperBound))
            // Two ranges may share a cell.
            let start = first == numbers.last ? first + 1 : first
            guard start <= last else { continue }
            guard last - start < most, numbers.count + Int(last - start) < most else { return nil }
            numbers += start...last
            inside += (start...last).filter {
                let low = $0 << Int64(64 - level.rawValue)
                return range.lowerBound <= low && low + keys <= range.upperBound
            }
        }
        return (numbers, inside)
    }

    /// A condition on `place_post p` and a cell, `c.cell`.
    var condition: Query { "\(level.cell) = c.cell" }
}
