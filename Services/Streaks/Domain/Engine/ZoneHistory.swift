public import Kernel

/// Which zone a participant's clock followed since when. The first zone also holds for all time before it.
///
/// Dates, their ends and how long they were shown are asked of this history, never of a zone alone: that is what makes travel safe
/// (SD-1, SD-3, SD-4).
public struct ZoneHistory: Hashable, Sendable {
    /// A zone and the instant the clock began to follow it.
    public struct Entry: Hashable, Sendable {
        public let since: Instant
        public let zone: Zone
        /// When the change was written to the ledgers, never before `since`: until then dates were settled without it.
        public let recordedAt: Instant

        /// - Parameter recordedAt: nil: when it was made.
        public init(since: Instant, zone: Zone, recordedAt: Instant? = nil) {
            self.since = since
            self.zone = zone
            self.recordedAt = max(since, recordedAt ?? since)
        }
    }

    /// In time order, at least one.
    public private(set) var entries: [Entry]

    /// A clock that has always followed one zone.
    public init(_ zone: Zone) { entries = [Entry(since: .distantPast, zone: zone)] }

    /// A clock with a past; nil without any entry. Entries may come in any order; of two for one instant the later in the list wins.
    public init?(entries: [Entry]) {
        guard let first = entries.min(by: { $0.since < $1.since }) else { return nil }
        self.init(first.zone)
        for entry in entries.sorted(by: { $0.since < $1.since }).dropFirst() {
            change(to: entry.zone, at: entry.since, recordedAt: entry.recordedAt)
        }
    }

    /// The clock follows `zone` from `instant` on. A change older than the last known one is ignored: those of one user come in order.
    ///
    /// - Parameter recordedAt: when the ledgers receive it, which may be after dates were settled without it; nil: at once.
    public mutating func change(to zone: Zone, at instant: Instant, recordedAt: Instant? = nil) {
        guard let last = entries.last, instant >= last.since, last.zone != zone else { return }
        entries.append(Entry(since: instant, zone: zone, recordedAt: recordedAt))
    }

    /// The zone followed at `instant`.
    public func zone(at instant: Instant) -> Zone {
        (entries.last { $0.since <= instant } ?? entries[0]).zone
    }

    /// The date this clock shows at `instant`.
    public func date(at instant: Instant) -> CalendarDate { zone(at: instant).date(at: instant) }

    /// The newest date this clock has shown by `instant`; after travel westwards it may be newer than the present one.
    func newestDate(by instant: Instant) -> CalendarDate {
        guard entries.count > 1 else { return entries[0].zone.date(at: instant) }
        var newest = CalendarDate(dayNumber: .min)
        for index in entries.indices where index == 0 || entries[index].since <= instant {
            let end = index + 1 < entries.count ? min(entries[index + 1].since, instant) : instant
            newest = max(newest, entries[index].zone.date(at: end))
        }
        return newest
    }

    /// The earliest date that is not over for this clock at `instant` (SD-4): the newest it has shown by then. It never moves back as time
    /// passes and zones change, so a date that is over stays over.
    public func openFrom(at instant: Instant) -> CalendarDate {
        let known = known(at: instant)
        var date = known.newestDate(by: instant)
        // Where clocks are set back across midnight a date is shown, left again and over all the same.
        while known.end(of: date) <= instant { date = date.advanced(by: 1) }
        return date
    }

    /// The date this clock shows at `instant` before any change of that very instant: the first date of who starts then. Where a change
    /// was not known yet, the earlier one of the two: what was credited to it counts.
    public func firstDate(at instant: Instant) -> CalendarDate {
        let date = (entries.last { $0.since < instant } ?? entries[0]).zone.date(at: instant)
        guard entries.count > 1 else { return date }
        return min(date, (entries.last { $0.since < instant && $0.recordedAt <= instant } ?? entries[0]).zone.date(at: instant))
    }

    /// The first instant at which this clock shows a date after `date` (SD-4). At the very instant of a change both zones count: what
    /// was settled at it stays settled.
    public func end(of date: CalendarDate) -> Instant {
        for index in entries.indices.dropLast() {
            let candidate = max(entries[index].since, entries[index].zone.end(of: date))
            if candidate <= entries[index + 1].since { return candidate }
        }
        let last = entries[entries.count - 1]
        return max(last.since, last.zone.end(of: date))
    }

    /// When this clock shows `date`, up to `limit`.
    func spans(showing date: CalendarDate, before limit: Instant) -> [Span] {
        entries.indices.compactMap { index in
            let zone = entries[index].zone
            let next = index + 1 < entries.count ? entries[index + 1].since : limit
            return Span(max(entries[index].since, zone.start(of: date)), min(next, limit, zone.end(of: date)))
        }
    }

    /// The history as the ledgers knew it at `instant`: without the changes that were recorded later, however long they had been made.
    func known(at instant: Instant) -> ZoneHistory {
        guard entries.count > 1, entries.contains(where: { $0.recordedAt > instant }) else { return self }
        var past = self
        past.entries = entries.enumerated().filter { $0.offset == 0 || $0.element.recordedAt <= instant }.map(\.element)
        return past
    }

    /// The history up to `instant`, with every change that had been made by then.
    func made(by instant: Instant) -> ZoneHistory {
        guard let last = entries.last, last.since > instant else { return self }
        var past = self
        past.entries = entries.enumerated().filter { $0.offset == 0 || $0.element.since <= instant }.map(\.element)
        return past
    }

    /// The same changes as if each had been recorded when it was made.
    var recordedInTime: ZoneHistory {
        guard entries.contains(where: { $0.recordedAt > $0.since }) else { return self }
        var other = self
        other.entries = entries.map { Entry(since: $0.since, zone: $0.zone) }
        return other
    }
}

/// A stretch of time, its end excluded.
struct Span: Hashable {
    var from: Instant
    var until: Instant

    /// nil when there is no time between the two.
    init?(_ from: Instant, _ until: Instant) {
        guard from < until else { return nil }
        self.from = from
        self.until = until
    }

    var length: Interval { until - from }

    /// How much of `spans` lies in any of `others`; time that several of them share counts once.
    static func overlap(of spans: [Span], with others: [Span]) -> Interval {
        guard !others.isEmpty else { return .zero }
        var pieces = spans.flatMap { span in
            others.compactMap { Span(max(span.from, $0.from), min(span.until, $0.until)) }
        }
        pieces.sort { $0.from < $1.from }
        var total = Interval.zero
        var reached = Instant.distantPast
        for piece in pieces where piece.until > reached {
            total = total + (piece.until - max(piece.from, reached))
            reached = piece.until
        }
        return total
    }
}

extension Instant {
    /// Before anything that happens here.
    static let distantPast = Instant(microseconds: -62_135_596_800_000_000)
}
