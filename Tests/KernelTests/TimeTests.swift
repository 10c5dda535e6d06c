import Kernel
import TestSupport
import Testing

@Suite struct TimeTests {
    @Test func `A date is its day number and back, 1900 to 2100`() throws {
        var date = try #require(CalendarDate(year: 1900, month: 1, day: 1))
        #expect(date.isoWeekday == 1)
        while date.components.year < 2100 {
            let (year, month, day) = date.components
            #expect(CalendarDate(year: year, month: month, day: day) == date)
            #expect(CalendarDate(date.description) == date)
            let next = date.advanced(by: 1)
            #expect(next.isoWeekday == date.isoWeekday % 7 + 1)
            date = next
        }
    }

    @Test func `Known days`() {
        #expect(CalendarDate("1970-01-01")?.dayNumber == 0)
        #expect(CalendarDate("2000-03-01")?.dayNumber == 11_017)
        #expect(CalendarDate("1969-12-31")?.dayNumber == -1)
        #expect(CalendarDate("2026-05-01")?.isoWeekday == 5)
    }

    @Test(arguments: ["", "2026-02-29", "2026-13-01", "2026-00-10", "2026-1-01", "2026-01-32", "0000-01-01", "2026-01-01 "])
    func `What is no date`(text: String) {
        #expect(CalendarDate(text) == nil)
    }

    @Test(arguments: [
        ("2026-05-01T12:00:00Z", "2026-05-01T12:00:00Z"), ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00Z"),
        ("2026-05-01T12:00:00.5-00:30", "2026-05-01T12:30:00.500Z"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
        ("2026-06-30T23:59:60Z", "2026-07-01T00:00:00Z"), ("2026-05-01t12:00:00.1234567z", "2026-05-01T12:00:00.123456Z"),
    ]) func `Instants in and out`(text: String, canonical: String) throws {
        #expect(try #require(Instant(rfc3339: text)).description == canonical)
    }

    @Test(arguments: [
        "", "2026-05-01", "2026-05-01T12:00:00", "2026-05-01T24:00:00Z", "2026-05-01T12:00:00.Z", "2026-05-01T12:00:00+2:00",
    ]) func `What is no instant`(text: String) {
        #expect(Instant(rfc3339: text) == nil)
    }

    @Test func `Beyond the first and the last instant, length and day number arithmetic stays there`() {
        let (first, last) = (Instant(microseconds: .min), Instant(microseconds: .max))
        #expect(last + .seconds(1) == last && first - .seconds(1) == first)
        #expect(last - .seconds(-1) == last && first + .seconds(-1) == first)
        #expect(last - first == Interval(microseconds: .max) && first - last == Interval(microseconds: .min))
        for seconds in [.max, .max / 1_000, .max / 1_000_000 + 1] as [Int64] {
            #expect(Instant(seconds: seconds) == last && Instant(seconds: -seconds) == first)
            #expect(Interval.seconds(seconds) == Interval(microseconds: .max))
        }
        #expect(Instant(milliseconds: .max) == last && Instant(milliseconds: .min) == first)
        for make in [Interval.milliseconds, Interval.seconds, Interval.minutes, Interval.hours, Interval.days] {
            #expect(make(.max) == Interval(microseconds: .max) && make(.min) == Interval(microseconds: .min))
            #expect(make(.max) + make(.max) == make(.max) && make(.min) - make(.max) == make(.min))
        }
        let ends = [CalendarDate(dayNumber: .min), CalendarDate(dayNumber: .max)]
        for (date, step) in zip(ends, [-1, 1]) {
            #expect(date.advanced(by: step) == date && date.advanced(by: step * Int.max) == date)
            #expect((1...7).contains(date.isoWeekday))
        }
        for zone in [Zone.utc, Zone("America/New_York"), Zone("-14:00"), Zone("+14:00")].compactMap(\.self) {
            for instant in [first, last] {
                let date = zone.date(at: instant)
                #expect((0..<86_400).contains(zone.secondOfDay(at: instant)))
                #expect(abs((zone.start(of: date) - instant).microseconds / 86_400_000_000) <= 1)
                #expect(abs((zone.end(of: date) - instant).microseconds / 86_400_000_000) <= 1)
            }
        }
    }

    @Test func `The last writable instant is the last microsecond of the year 9999`() {
        #expect(Instant.writable.lowerBound.description == "0001-01-01T00:00:00Z")
        #expect(Instant.writable.upperBound.description == "9999-12-31T23:59:59.999999Z")
    }

    @Test func `Ids in and out, in the order they were made`() throws {
        let clock = ManualClock(Instant(seconds: 1_780_000_000))
        let source = UUIDv7Source(clock: clock)
        let ids: [UserID] = (0..<10_000).map { _ in source.make() }
        #expect(ids == ids.sorted())
        #expect(Set(ids).count == ids.count)
        let id = try #require(ids.first)
        #expect(UserID(id.description.uppercased()) == id)
        #expect(id.description.dropFirst(14).first == "7")
        #expect(UserID("0198c0de-0000-7000-8000-00000000000") == nil)
        #expect(throws: ServiceError.self) { try UserID(parsing: "x", field: "user_id") }
    }
}
