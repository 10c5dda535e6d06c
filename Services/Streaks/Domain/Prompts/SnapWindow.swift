public import Kernel

/// The two hours of a user's date in which a snap is on time (PW-2).
public struct SnapWindow: Hashable, Sendable {
    /// Local hour at which it opens unless the user chose another.
    public static let defaultStartHour = 10
    /// How long it is open, in time that passes: two hours also when the clock is changed meanwhile.
    public static let length = Interval.hours(2)
    /// In how much of its beginning the push of the day comes (PW-2): what is left after it has room for the reminder of its end.
    public static let pushSpan = Interval.hours(1)
    /// How far outside a snap is still on time (PW-3).
    public static let tolerance = Interval.minutes(30)

    public let opensAt: Instant
    public let closesAt: Instant

    /// The window on `date`. An hour that the date skips (DST) is the first instant after it; one that it has twice is the first.
    ///
    /// - Parameter startHour: local hour, 0…23; others are brought into that range.
    public init(startHour: Int, on date: CalendarDate, in zone: Zone) {
        let hour = Int64(min(max(startHour, 0), 23))
        let midnight = Int64(date.dayNumber) * 86_400 + hour * 3_600
        opensAt = Self.first(showing: midnight, in: zone, on: date)
        closesAt = opensAt + Self.length
    }

    /// The window that is open at `now`, or else the next one to open.
    public static func current(startHour: Int, in zone: Zone, at now: Instant) -> SnapWindow {
        let today = zone.date(at: now)
        let candidates = [-1, 0, 1, 2].map { SnapWindow(startHour: startHour, on: today.advanced(by: $0), in: zone) }
        return candidates.first { now < $0.closesAt } ?? candidates[3]
    }

    /// Open from the first instant, closed at the last.
    public func isOpen(at now: Instant) -> Bool { opensAt <= now && now < closesAt }

    /// Seconds until it closes while open, until it opens before that; 0 after it.
    public func secondsLeft(at now: Instant) -> Int64 {
        max(0, ((isOpen(at: now) ? closesAt : opensAt) - now).seconds)
    }

    /// Whether a snap captured then is on time (PW-3): inside the window, 30 min before and after included.
    public func isOnTime(_ capturedAt: Instant) -> Bool {
        opensAt - Self.tolerance <= capturedAt && capturedAt <= closesAt + Self.tolerance
    }

    /// Whether a snap captured then is on time for one of the windows of its date and the dates beside it (a window may run over
    /// midnight).
    public static func isOnTime(_ capturedAt: Instant, startHour: Int, in zone: Zone) -> Bool {
        let date = zone.date(at: capturedAt)
        return [-1, 0, 1].contains {
            SnapWindow(startHour: startHour, on: date.advanced(by: $0), in: zone).isOnTime(capturedAt)
        }
    }

    /// Whether a snap is on time by its author's clock (PW-3). The capture time is believed where it makes the snap's date (SD-2); what a
    /// client says of another date is not, and the time of receipt counts.
    public static func isOnTime(
        receivedAt: Instant,
        capturedAt: Instant?,
        startHour: Int,
        _ zones: ZoneHistory,
        _ policy: StreakPolicy
    ) -> Bool {
        let at = zones.claim(receivedAt: receivedAt, capturedAt: capturedAt, policy).at
        return isOnTime(at, startHour: startHour, in: zones.made(by: receivedAt).zone(at: at))
    }

    /// When the push of the day is sent: a minute of the window's first hour that differs from user to user and from date to date, and
    /// is the same in every process that computes it (PW-2).
    public func pushAt(user: UserID, on date: CalendarDate) -> Instant {
        // SplitMix64's finalizer (Steele, Lea, Flood 2014) spreads ids that differ in few bits.
        var hash = user.high ^ (user.low &+ UInt64(bitPattern: Int64(date.dayNumber)) &* 0x9E37_79B9_7F4A_7C15)
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        hash ^= hash >> 31
        return opensAt + .minutes(Int64(hash % UInt64(Self.pushSpan.seconds / 60)))
    }

    /// The first instant of `date` at which the wall clock shows `local` (seconds since 1970-01-01 on it) or later.
    static func first(showing local: Int64, in zone: Zone, on date: CalendarDate) -> Instant {
        let start = zone.start(of: date)
        let end = zone.end(of: date)
        guard start < end else { return start }
        // A date has at most a few offsets; the wanted time is right in one of them, or skipped between two.
        var offsets: [Int64] = []
        var probe = start
        while probe < end {
            offsets.append(zone.offset(at: probe).seconds)
            probe = probe + .minutes(30)
        }
        let exact = Set(offsets).map { Instant(seconds: local - $0) }
            .filter { $0 >= start && $0 < end && ($0 + zone.offset(at: $0)).seconds == local }
        if let first = exact.min() { return first }
        // Skipped: the change of the clock, found by bisection between a time before and one after.
        var before = start.seconds
        var after = end.seconds
        guard (start + zone.offset(at: start)).seconds < local else { return start }
        while after - before > 1 {
            let middle = (before + after) / 2
            let shown = middle + zone.offset(at: Instant(seconds: middle)).seconds
            if shown >= local { after = middle } else { before = middle }
        }
        return Instant(seconds: after)
    }
}
