private import Glibc

/// The functions of real numbers that domain code needs and Swift's own library lacks: it imports no C library itself (PL-2, PL-4).
///
/// Angles are in radians. Nothing traps: outside a function's domain the result is NaN, as IEEE 754 has it.
public enum Functions {
    /// The sine of an angle.
    public static func sine(_ angle: Double) -> Double { sin(angle) }

    /// The cosine of an angle.
    public static func cosine(_ angle: Double) -> Double { cos(angle) }

    /// The angle from −π/2 to π/2 whose sine is `value`; NaN outside −1…1.
    public static func arcsine(_ value: Double) -> Double { asin(value) }

    /// The angle from −π to π of the direction (x, y); 0 for (0, 0).
    public static func angle(y: Double, x: Double) -> Double { atan2(y, x) }

    /// The logarithm to base 10; −∞ for 0, NaN below.
    public static func log10(_ value: Double) -> Double { Glibc.log10(value) }
}
