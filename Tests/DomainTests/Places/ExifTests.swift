import Kernel
import MediaDomain
import TestSupport
import Testing

struct ExifTests {
    @Test func `a position is degrees, minutes and seconds, and the side`() {
        let berlin = ExifPosition(place(52.520_008, 13.404_954))
        #expect(berlin.latitude.map(\.description) == ["52/1", "31/1", "120288/10000"] && berlin.latitudeRef == "N")
        #expect(berlin.longitude.map(\.description) == ["13/1", "24/1", "178344/10000"] && berlin.longitudeRef == "E")
        let sydney = ExifPosition(place(-33.8688, -151.25))
        #expect(sydney.latitudeRef == "S" && sydney.longitudeRef == "W")
        #expect(sydney.longitude.map(\.description) == ["151/1", "15/1", "0/10000"])
        let edge = ExifPosition(place(-90, 180))
        #expect(edge.latitude.map(\.description) == ["90/1", "0/1", "0/10000"] && edge.longitudeRef == "W")
    }

    @Test func `minutes and seconds stay below 60, and reading it gives the point`() {
        var random = Seeded(71)
        for _ in 0..<3_000 {
            let fraction = random.pick([0.999_999_999_9, 1.0 / 60 - 1e-12, 0.5 - 1e-13, random.number(0...1)])
            let point = place(Double(Int.random(in: -90..<90, using: &random)) + fraction, random.number(-180...180))
            let tags = ExifPosition(point)
            func read(_ parts: [ExifRational], _ isNegative: Bool) -> Double {
                let numbers = parts.map { Double($0.numerator) / Double($0.denominator) }
                #expect(numbers.count == 3 && numbers[1] < 60 && numbers[2] < 60)
                return (isNegative ? -1 : 1) * (numbers[0] + numbers[1] / 60 + numbers[2] / 3_600)
            }
            let latitude = read(tags.latitude, tags.latitudeRef == "S")
            let longitude = read(tags.longitude, tags.longitudeRef == "W")
            #expect(abs(latitude - point.latitude) < 2e-8 && abs(longitude - point.longitude) < 2e-8, "\(point)")
        }
    }

    @Test func `a time is by the clock of the place, and in UTC`() throws {
        let instant = Instant(milliseconds: 1_767_225_599_042)
        let utc = try #require(ExifTime(instant))
        #expect(utc.dateTime == "2025:12:31 23:59:59" && utc.milliseconds == "042" && utc.offset == "+00:00")
        #expect(utc.gpsDate == "2025:12:31" && utc.gpsTime.map(\.description) == ["23/1", "59/1", "59/1"])
        let kolkata = try #require(Zone("Asia/Kolkata"))
        let india = try #require(ExifTime(instant, zone: kolkata))
        #expect(india.dateTime == "2026:01:01 05:29:59" && india.offset == "+05:30" && india.gpsDate == "2025:12:31")
        let offset = try #require(Zone(offsetMinutes: -210))
        let west = try #require(ExifTime(instant, zone: offset))
        #expect(west.dateTime == "2025:12:31 20:29:59" && west.offset == "-03:30")
        let old = try #require(ExifTime(Instant(milliseconds: -1)))
        #expect(old.dateTime == "1969:12:31 23:59:59" && old.milliseconds == "999")
    }

    @Test func `an instant outside the years of four digits has no tags`() {
        #expect(ExifTime(Instant(seconds: 253_402_300_800)) == nil)
        #expect(ExifTime(Instant(microseconds: .min)) == nil && ExifTime(Instant(microseconds: .max)) == nil)
    }
}
