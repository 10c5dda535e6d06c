public import Kernel

/// Local hours in which a user wants no pushes (NO-5): from the first instant of the start hour until the first of the end hour, over
/// midnight when the start is later.
public struct QuietHours: Hashable, Sendable {
    /// 22 to 7.
    public static let standard = QuietHours(unchecked: 22, 7)

    /// Local hours, 0…23, never equal.
    public let start: Int
    public let end: Int

    /// nil when an hour is not in 0…23, or both are the same.
    public init?(start: Int, end: Int) {
        guard (0...23).contains(start), (0...23).contains(end), start != end else { return nil }
        self.init(unchecked: start, end)
    }

    private init(unchecked start: Int, _ end: Int) { (self.start, self.end) = (start, end) }

    /// Whether the wall clock of `zone` shows a quiet hour.
    public func contains(_ instant: Instant, in zone: Zone) -> Bool {
        let hour = Int(zone.secondOfDay(at: instant) / 3_600)
        return start < end ? start <= hour && hour < end : start <= hour || hour < end
    }

    /// The first minute from `instant` on that is not quiet; `instant` itself when it is not.
    ///
    /// Found on the clock of the zone, so that it is right where the end hour is skipped or comes twice.
    public func end(from instant: Instant, in zone: Zone) -> Instant {
        guard contains(instant, in: zone) else { return instant }
        let minute: Int64 = 60
        // Whole minutes; clocks change on them.
        let first = Instant(seconds: instant.seconds - instant.seconds.quotientAndRemainder(dividingBy: minute).remainder)
        // At most 23 quiet hours and the hours of a change of the clock.
        for index in 1...Int64(36 * 60) {
            let candidate = first + .minutes(index)
            if !contains(candidate, in: zone) { return candidate }
        }
        return instant + .days(1)
    }
}
