/// A rectangle of the cells that patches are made of (PL-4): 32,768 rows from the south pole and 65,536 columns from the antimeridian.
public struct PlaceArea: Hashable, Sendable {
    /// The rows.
    public let y: ClosedRange<Int>
    /// The columns.
    public let x: ClosedRange<Int>

    /// Metres beyond its patch that a circle of a reach stays within.
    public static func metres(reach: Int) -> Double { 1_000 * Double(1 << max(0, reach)) }

    /// Every reach that a patch can have: the last is more than half of the way around the earth.
    public static let reaches = 0...15

    /// Where patches of a reach lie whose circles may come into a box. Columns of patches over the antimeridian go on beyond the last: they
    /// are asked for in both places.
    public static func areas(around box: GeoBox, reach: Int) -> [PlaceArea] {
        box.padded(by: metres(reach: reach)).parts.map(Rectangle.init).flatMap { part in
            [0, 65_536].map { turn in
                PlaceArea(
                    y: Int(part.bottom >> 17)...Int(part.top >> 17),
                    x: Int(part.left >> 16) + turn...Int(part.right >> 16) + turn
                )
            }
        }
    }
}
