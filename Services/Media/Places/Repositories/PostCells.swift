internal import Database
internal import Kernel

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
    /// Of keys: the area that they cover.
    let ranges: [ClosedRange<Int64>]

    static let world = PostCells(level: .world, numbers: [0], ranges: [.min ... .max])

    /// The levels that an order has indexes for, the finest first.
    static func levels(of order: PostSearch.Order) -> [Level] {
        order == .score ? [.bits26, .bits20, .bits14, .bits8] : [.bits26, .bits14]
    }

    /// The smallest cells that cover ranges of keys and are no more than `most`; the whole earth when there are none.
    static func covering(_ ranges: [ClosedRange<Int64>], most: Int, levels: [Level]) -> PostCells {
        for level in levels {
            var numbers: [Int64] = []
            for range in ranges where numbers.count <= most {
                let (first, last) = (level.cell(of: range.lowerBound), level.cell(of: range.upperBound))
                // Two ranges may share a cell.
                let start = first == numbers.last ? first + 1 : first
                guard start <= last else { continue }
                numbers += start...min(last, start + Int64(most))
            }
            if numbers.count <= most { return PostCells(level: level, numbers: numbers, ranges: ranges) }
        }
        return PostCells(level: .world, numbers: [0], ranges: ranges)
    }

    /// One condition on `place_post p` for each cell.
    var conditions: [Query] {
        level == .world ? ["true"] : numbers.map { "\(level.cell) = \($0)" }
    }
}
