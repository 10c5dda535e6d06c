public import Kernel

/// A zone whose rules are others in newer zone data, for people whose clocks have followed the older ones until now.
///
/// What was settled by the older rules stays settled: where the two differ in the past, a clock's history gets what it showed as fixed offsets
/// (`kept`), so that dates, their ends and first dates come out as before whatever `Zone` says since. Then the newer rules hold from the
/// instant of the change on, like a journey (SD-3): no date is filled twice, and none is skipped.
public struct ZoneRulesChange: Sendable {
    /// The zone's name.
    public let zone: String
    /// What it went by until now.
    public let old: ZoneRules
    /// What it goes by from now on.
    public let new: ZoneRules

    /// How far a date may have got whose end moves forward: who began it had the whole evening of notice.
    static let justBegun = Interval.hours(6)
    /// How long taking the rules up may take: for so long `isReady` looks ahead.
    static let duration = Interval.hours(1)
    /// Rules that are never ready, because the clock jumps over a whole date, are taken up all the same after this long.
    static let longestWait = Interval.days(2)

    /// The change of a zone's rules.
    public init(zone: String, from old: ZoneRules, to new: ZoneRules) { (self.zone, self.old, self.new) = (zone, old, new) }

    /// Whether it may be made now: the date that is open ends no earlier than its people were shown, or has only just begun.
    ///
    /// Of two ends the later counts: where the clock is set back the date goes on, where it is set forward the change waits for the next date.
    ///
    /// - Parameter since: when the newer rules became known here.
    public func isReady(at now: Instant, knownSince since: Instant) -> Bool {
        let later = now + Self.duration
        let date = old.date(at: now)
        let end = old.end(of: date)
        // They differ in the past or in the future alone: nothing moves now.
        if old.offset(at: now) == new.offset(at: now), new.end(of: date) == end { return true }
        if now - since >= Self.longestWait { return true }
        guard new.date(at: now) == date, old.date(at: later) == date, new.date(at: later) == date else { return false }
        return new.end(of: date) >= end || old.date(at: now - Self.justBegun) < date
    }

    /// The entries that a clock's history needs so that it says of the past what it said by the older rules: those to add, and those that take
    /// the place of one of the same instant. None when the rules have not differed for this clock.
    ///
    /// - Parameters:
    ///   - entries: those of one clock, in time order.
    ///   - now: until when the older rules held.
    public func kept(in entries: [ZoneHistory.Entry], at now: Instant) -> [ZoneHistory.Entry] {
        var kept: [ZoneHistory.Entry] = []
        for (index, entry) in entries.enumerated() where entry.zone.name == zone {
            let next = index + 1 < entries.count ? entries[index + 1].since : nil
            let end = min(now, next ?? now)
            guard entry.since < end else { continue }
            func add(_ zone: Zone, _ since: Instant) {
                kept.append(ZoneHistory.Entry(since: since, zone: zone, recordedAt: max(since, entry.recordedAt)))
            }
            let differences = old.differences(from: new, in: entry.since..<end)
            for (place, difference) in differences.enumerated() {
                // Before 1970 there were offsets with seconds.
                guard difference.offset.seconds % 60 == 0, let shown = Zone(offsetMinutes: Int(difference.offset.seconds / 60))
                else { continue }
                add(shown, max(difference.from, entry.since))
                // The range is cut to whole seconds.
                let until = difference.until.seconds == end.seconds ? end : difference.until
                let isFollowed = place + 1 < differences.count && differences[place + 1].from == difference.until
                if !isFollowed, until < end || next == nil { add(entry.zone, until) }
            }
        }
        return kept
    }
}
