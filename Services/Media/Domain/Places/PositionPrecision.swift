import Kernel

/// How exactly others see where a post is.
///
/// A coarse position is the centre of the cell of a fixed grid that the exact one lies in. Nothing is drawn at random: all posts of a cell
/// have the same coarse position, so neither many posts nor many questions about one post give more than the cell. It must be the only
/// position that search, distance, geohash, clusters, place name and EXIF use for others.
public enum PositionPrecision: String, Hashable, Sendable, CaseIterable {
    /// As the author's device reported it.
    case exact
    /// Cells of about 100 m.
    case hundredMetres = "100m"
    /// Cells of about 1 km.
    case kilometre = "1km"

    /// The least side of a cell in metres; nil for `exact`.
    public var cell: Double? {
        switch self {
        case .exact: nil
        case .hundredMetres: 100
        case .kilometre: 1_000
        }
    }

    /// The position that others see. Snapping it again changes nothing.
    public func position(of point: Coordinate) -> Coordinate {
        guard let cell else { return point }
        let grid = MetreGrid(cell: cell)
        return grid.center(row: grid.row(of: point), column: grid.column(of: point))
    }
}

/// Cells of equal metres: bands of latitude of equal height, each divided into as many cells of equal width as fit. No cell is lower or
/// narrower than `cell`. The bands at the poles are one cell each, a cap.
struct MetreGrid {
    /// The least side of a cell in metres.
    let cell: Double
    /// How many bands there are from pole to pole.
    let rows: Int

    init(cell: Double) {
        self.cell = cell
        rows = max(1, Int(Earth.halfway / cell))
    }

    /// The height of a band in degrees.
    private var height: Double { 180 / Double(rows) }

    /// The band of a point; 0 is at the south pole.
    func row(of point: Coordinate) -> Int {
        min(rows - 1, max(0, Int((point.latitude + 90) / height)))
    }

    /// How many cells a band has.
    func columns(row: Int) -> Int {
        // The edge that is nearer to a pole is the shorter one; at the pole it has no length.
        let edge = max(abs(Double(row) * height - 90), abs(Double(row + 1) * height - 90))
        return max(1, Int(2 * Earth.halfway * Functions.cosine(edge * Earth.radians) / cell))
    }

    /// The cell of a point in its band; 0 begins at the antimeridian.
    func column(of point: Coordinate) -> Int {
        let columns = columns(row: row(of: point))
        return min(columns - 1, max(0, Int((point.longitude + 180) / 360 * Double(columns))))
    }

    /// The centre of a cell: of a cap, the pole.
    func center(row: Int, column: Int) -> Coordinate {
        let columns = columns(row: row)
        if row == 0 || row == rows - 1 { return Coordinate(nearestLatitude: row == 0 ? -90 : 90, longitude: 0) }
        return Coordinate(
            nearestLatitude: (Double(row) + 0.5) * height - 90,
            longitude: (Double(column) + 0.5) * 360 / Double(columns) - 180
        )
    }
}
