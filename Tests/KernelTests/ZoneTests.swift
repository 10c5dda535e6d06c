import Foundation
import Kernel
import Processes
import Testing

@Suite struct ZoneTests {
    @Test("Every name of the tz database is a zone, and its offsets are those of Python's zoneinfo")
    func agreesWithPython() async throws {
        // 24 instants per zone from 2010 to 2030, the same in every run.
        let lines = try await Python.run(
            """
            import random, zoneinfo, datetime
            random.seed(7)
            for name in sorted(zoneinfo.available_timezones() - {"localtime", "Factory"}):
                zone = zoneinfo.ZoneInfo(name)
                for _ in range(24):
                    t = random.randrange(1262304000, 1893456000)
                    local = datetime.datetime.fromtimestamp(t, zone)
                    print(name, t, int(local.utcoffset().total_seconds()), local.date())
            """
        )
        var zones = 0
        var last = ""
        for line in lines {
            let parts = line.split(separator: " ")
            try #require(parts.count == 4)
            let zone = try #require(Zone(String(parts[0])), "\(parts[0])")
            let instant = Instant(seconds: try #require(Int64(parts[1])))
            #expect(zone.offset(at: instant).seconds == Int64(parts[2]), "\(line)")
            #expect(zone.date(at: instant).description == parts[3], "\(line)")
            zones += zone.name == last ? 0 : 1
            last = zone.name
        }
        #expect(zones > 400)
    }

    @Test(
        "What is no zone is refused",
        arguments: ["", "PST", "GMT+5", "Foo/Bar", "asia/kolkata", "+15:00", "-14:01", "SystemV/PST8", "../UTC"]
    )
    func refused(name: String) {
        #expect(Zone(name) == nil)
    }

    @Test("Fixed offsets") func fixed() throws {
        #expect(try #require(Zone(offsetMinutes: -210)).name == "-03:30")
        #expect(try #require(Zone("+05:30")).offset(at: .epoch) == .minutes(330))
        #expect(Zone(offsetMinutes: 841) == nil)
    }

    @Test(
        "The start of a date",
        arguments: [
            ("UTC", "2026-05-01", "2026-05-01T00:00:00Z"),
            ("America/New_York", "2026-03-08", "2026-03-08T05:00:00Z"),
            ("America/New_York", "2026-03-09", "2026-03-09T04:00:00Z"),
            ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-06", "2026-04-05T13:30:00Z"),
            ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z"),
            ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"),
            // The clock went from 00:01 back to 23:01 of the day before.
            ("America/St_Johns", "2010-11-07", "2010-11-07T02:30:00Z"),
        ]
    )
    func start(zone: String, date: String, start: String) throws {
        let zone = try #require(Zone(zone))
        #expect(zone.start(of: try #require(CalendarDate(date))).description == start)
    }
}

/// Runs a program of Python's standard library.
enum Python {
    static func run(_ program: String) async throws -> [String] {
        let result = try await Processes.run("python3", ["-c", program])
        try #require(result.status == 0, "\(result.errors)")
        return result.text.split(separator: "\n").map(String.init)
    }
}
