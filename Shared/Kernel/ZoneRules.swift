private import Synchronization

/// A zone's offsets as one version of the tz database has them, from its compiled file (TZif, RFC 9636).
///
/// They never change. What a `Zone` goes by is the newest that was taken up for its name (`TimeZoneDatabase`).
///
/// Foundation is not used because its time zones load ICU: 8 MB of resident memory in every process.
public final class ZoneRules: Sendable {
    /// Instants at which the offset changes, ascending.
    private let transitions: [Int64]
    /// The offset from each of them on.
    private let offsets: [Int64]
    /// The offset before all of them.
    private let earliest: Int64
    /// The rule after the last one; nil: its offset stays.
    private let rule: YearlyRule?
    /// A cache of the starts of days.
    private let starts = Mutex<[Int32: Int64]>([:])
    /// Ten years of them.
    private static let mostStarts = 3_650

    /// The rules in a file's bytes; nil when they are no compiled file.
    public init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes)
        // The first block has 32-bit times for old readers; version 1 files have no other.
        guard let old = reader.header(), old.version >= 2, reader.skip(old.length(timeSize: 4)), let counts = reader.header(),
            counts.types > 0, counts.leapSeconds == 0
        else { return nil }
        var transitions: [Int64] = []
        for _ in 0..<counts.transitions {
            guard let time = reader.integer(8), time > transitions.last ?? .min else { return nil }
            transitions.append(time)
        }
        var indices: [Int] = []
        for _ in 0..<counts.transitions {
            guard let index = reader.integer(1), (0..<Int64(counts.types)).contains(index) else { return nil }
            indices.append(Int(index))
        }
        var types: [Int64] = []
        for _ in 0..<counts.types {
            guard let offset = reader.integer(4), reader.skip(2), abs(offset) < 26 * 3_600 else { return nil }
            types.append(offset)
        }
        guard reader.skip(counts.abbreviations + counts.standardFlags + counts.universalFlags), let footer = reader.line() else {
            return nil
        }
        if footer.isEmpty {
            rule = nil
        } else {
            guard let rule = YearlyRule(footer) else { return nil }
            self.rule = rule
        }
        self.transitions = transitions
        offsets = indices.map { types[$0] }
        earliest = types[0]
    }

    /// Seconds east of UTC at an instant.
    func offset(at seconds: Int64) -> Int64 {
        guard let last = transitions.last else { return rule?.offset(at: seconds) ?? earliest }
        if seconds >= last { return rule?.offset(at: seconds) ?? offsets[offsets.count - 1] }
        var (low, high) = (0, transitions.count)
        // The number of transitions that are not after `seconds`.
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? earliest : offsets[low - 1]
    }

    /// Time east of UTC at an instant.
    public func offset(at instant: Instant) -> Interval { .seconds(offset(at: instant.seconds)) }

    /// The date that a clock which follows these rules shows at an instant.
    public func date(at instant: Instant) -> CalendarDate {
        let local = (instant + offset(at: instant)).seconds
        return CalendarDate(dayNumber: Int32(clamping: local.flooredDivision(by: 86_400).quotient))
    }

    /// A time in which two versions of a zone's rules differ.
    public struct Difference: Hashable, Sendable {
        /// Its beginning.
        public let from: Instant
        /// Its end, excluded.
        public let until: Instant
        /// The offset by the older rules, which is one and the same all the time.
        public let offset: Interval
    }

    /// When these rules have another offset than newer ones, in time order; a time with several offsets of these rules is several differences.
    ///
    /// - Parameter range: where is looked; its ends are cut to whole seconds.
    public func differences(from newer: ZoneRules, in range: Range<Instant>) -> [Difference] {
        let (first, end) = (range.lowerBound.seconds, range.upperBound.seconds)
        guard first < end else { return [] }
        let changes = Set(self.changes(first..<end) + newer.changes(first..<end)).subtracting([first]).sorted()
        var found: [Difference] = []
        for (from, until) in zip([first] + changes, changes + [end]) {
            let old = offset(at: from)
            guard old != newer.offset(at: from) else { continue }
            var start = Instant(seconds: from)
            if let last = found.last, last.until == start, last.offset == .seconds(old) {
                start = last.from
                found.removeLast()
            }
            found.append(Difference(from: start, until: Instant(seconds: until), offset: .seconds(old)))
        }
        return found
    }

    /// The seconds at which the offset may change.
    private func changes(_ range: Range<Int64>) -> [Int64] {
        let listed = transitions.filter(range.contains)
        let ruled = max(range.lowerBound, transitions.last ?? range.lowerBound)
        guard let rule, ruled < range.upperBound else { return listed }
        return listed + rule.changes(in: ruled..<range.upperBound)
    }

    /// The first instant at which a clock that follows these rules shows a date after this one.
    public func end(of date: CalendarDate) -> Instant { Instant(seconds: start(ofDay: date.advanced(by: 1).dayNumber)) }

    /// The first second at which a clock shows this day, counted from 1970-01-01, or a later one.
    func start(ofDay day: Int32) -> Int64 {
        if let known = starts.withLock({ $0[day] }) { return known }
        let start = findStart(ofDay: Int64(day))
        starts.withLock { starts in
            if starts.count >= Self.mostStarts { starts.removeAll(keepingCapacity: true) }
            starts[day] = start
        }
        return start
    }

    private func findStart(ofDay day: Int64) -> Int64 {
        func isReached(at seconds: Int64) -> Bool { seconds + offset(at: seconds) >= day * 86_400 }
        // Zones lie within 16 hours of UTC and only ever move by whole seconds: bisect on seconds.
        var before = day * 86_400 - 16 * 3_600
        var after = day * 86_400 + 40 * 3_600
        while after - before > 1 {
            let middle = (before + after) / 2
            if isReached(at: middle) { after = middle } else { before = middle }
        }
        // A clock that is set back just after midnight (St. John's until 2011) shows the date twice. The first time counts.
        let midnight = day * 86_400 - offset(at: after - 3 * 3_600)
        return midnight < after && isReached(at: midnight) ? midnight : after
    }
}

/// The numbers at the start of a block.
private struct Header {
    let version: Int
    let universalFlags, standardFlags, leapSeconds, transitions, types, abbreviations: Int

    func length(timeSize: Int) -> Int {
        transitions * (timeSize + 1) + types * 6 + abbreviations + leapSeconds * (timeSize + 4) + standardFlags + universalFlags
    }
}

private struct Reader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func skip(_ count: Int) -> Bool {
        guard rest.count >= count else { return false }
        rest.removeFirst(count)
        return true
    }

    /// A big-endian integer with sign; a single byte has none.
    mutating func integer(_ size: Int) -> Int64? {
        guard rest.count >= size else { return nil }
        let bits = rest.prefix(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest.removeFirst(size)
        return switch size {
        case 4: Int64(Int32(truncatingIfNeeded: bits))
        default: Int64(bitPattern: bits)
        }
    }

    mutating func header() -> Header? {
        guard rest.starts(with: Array("TZif".utf8)), skip(4), let digit = integer(1), skip(15) else { return nil }
        var counts: [Int] = []
        for _ in 0..<6 {
            guard let count = integer(4), (0...65_536).contains(count) else { return nil }
            counts.append(Int(count))
        }
        return Header(
            version: Int(digit) - Int(UInt8(ascii: "0")),
            universalFlags: counts[0],
            standardFlags: counts[1],
            leapSeconds: counts[2],
            transitions: counts[3],
            types: counts[4],
            abbreviations: counts[5]
        )
    }

    /// The text between two line feeds.
    mutating func line() -> ArraySlice<UInt8>? {
        guard rest.popFirst() == UInt8(ascii: "\n"), let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return rest[rest.startIndex..<end]
    }
}
