/// Cells of the Z-order curve that cover a box (PL-2): the points of a cell share the leading bits of their keys.
public struct PlaceCells: Hashable, Sendable {
    /// Each cell's leading bits of its keys, as `place_key >> (64 - bits)` in PostgreSQL; in order, each once.
    public let all: [Int64]
    /// Those that reach over no edge of the box, to a step of the curve: 1 cm.
    public let inside: [Int64]

    /// The cells of one size that have a point of a box.
    ///
    /// - Parameters:
    ///   - bits: how many leading bits a cell's keys share: even, 2 to 62.
    ///   - most: nil is made when there are more.
    public init?(covering box: GeoBox, bits: Int, most: Int) {
        let shift = UInt64(32 - bits / 2)
        let parts = box.parts.map(Rectangle.init)
        var cells: [Int64: Bool] = [:]
        for part in parts {
            let columns = part.left >> shift...part.right >> shift
            let rows = part.bottom >> shift...part.top >> shift
            guard columns.count <= most, rows.count <= most, columns.count * rows.count <= most else { return nil }
            for column in columns {
                for row in rows {
                    let cell = Rectangle(
                        left: column << shift,
                        right: (column + 1) << shift - 1,
                        bottom: row << shift,
                        top: (row + 1) << shift - 1
                    )
                    let first = PlaceKey(bits: PlaceKey.interleaved(x: UInt32(cell.left), y: UInt32(cell.bottom)))
                    cells[first.value >> Int64(64 - bits)] = parts.contains { $0.contains(cell) }
                }
            }
        }
        guard cells.count <= most else { return nil }
        all = cells.keys.sorted()
        inside = all.filter { cells[$0] == true }
    }
}
