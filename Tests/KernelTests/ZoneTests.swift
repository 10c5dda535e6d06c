import Foundation
import Processes
import Synchronization
import Testing

@testable import Kernel

@Suite struct ZoneTests {
    @Test(
        // The tables end in 2037; yearly rules follow. Before 1970 Python has another idea of the time before the first change.
        arguments: [1970..<2010, 2010..<2030, 2038..<2100]
    ) func `Every name of the tz database is a zone, and its offsets are those of Python's zoneinfo`(years: Range<Int>)
        async throws
    {
        // 24 instants per zone, the same in every run.
        let lines = try await Python.run(
            """
            import random, zoneinfo, datetime
            random.seed(7)
            bounds = [int(datetime.datetime(y, 1, 1, tzinfo=datetime.timezone.utc).timestamp()) for y in (\(years.lowerBound), \(years.upperBound))]
            for name in sorted(zoneinfo.available_timezones() - {"localtime", "Factory"}):
                zone = zoneinfo.ZoneInfo(name)
                for _ in range(24):
                    t = random.randrange(*bounds)
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

    @Test(arguments: [
        "", "PST", "GMT+5", "Foo/Bar", "asia/kolkata", "+15:00", "-14:01", "SystemV/PST8", "../UTC",
        "posix/Europe/Berlin", "right/Europe/Berlin", "/Europe/Berlin", "Europe/../Asia/Tokyo", "Europe//Berlin", "Europe/",
        "Europe", "America/Argentina", "Europe/Berlin\u{0}", "zone.tab", "localtime", "posixrules",
    ]) func `What is no zone is refused`(name: String) {
        #expect(Zone(name) == nil)
    }

    /// The tables of this machine, with a count of what was read.
    private final class CountedFiles: TimeZoneFiles {
        let reads = Mutex<[String]>([])
        private let isListable: Bool
        init(isListable: Bool = true) { self.isListable = isListable }

        func names() -> [String]? {
            reads.withLock { $0.append("names") }
            return isListable ? InstalledTimeZones().names() : nil
        }

        func bytes(of name: String) -> [UInt8]? {
            reads.withLock { $0.append(name) }
            return InstalledTimeZones().bytes(of: name)
        }

        func version() -> ZoneVersion? { InstalledTimeZones().version() }

        /// What was read since the last look.
        func taken() -> [String] {
            reads.withLock { reads in
                defer { reads = [] }
                return reads
            }
        }
    }

    /// Names that no tz database has and that a file system might understand.
    private static let hostile = [
        "../UTC", "Europe/../Asia/Tokyo", "/etc/passwd", "/Europe/Berlin", "Europe/Berlin\u{0}", "Europe/Berlin\u{0}.txt",
        "\u{0}",
        "Europe//Berlin", "Europe/Berlin/", "./Europe/Berlin", "Europe/./Berlin", "posix/Europe/Berlin", "Europe\\Berlin",
        "Europe/Bérlin",
        "Europe/Berlin\n", " Europe/Berlin", "Europe/*", "E", "zone.tab", "tzdata.zi", "localtime", "posixrules", "~root/x",
        "%2e%2e/UTC",
        String(repeating: "A/", count: 50_000) + "B", String(repeating: "A", count: 1_000_000),
        "Asia/" + String(repeating: "B", count: 60),
        // The Kelvin sign: canonically equal to K, and another name.
        "Asia/\u{212A}olkata", "\u{212A}wajalein",
    ]

    @Test func `A name that cannot be one is refused before any file is touched`() throws {
        let files = CountedFiles()
        let database = TimeZoneDatabase(files: files)
        for name in Self.hostile { #expect(database.rules(name) == nil, "\(name.prefix(40))") }
        #expect(files.taken() == [])
        // Nor are they found beside what was read before.
        for name in ["Asia/Kolkata", "Kwajalein"] { _ = try #require(database.rules(name)) }
        _ = files.taken()
        for name in Self.hostile { #expect(database.rules(name) == nil, "\(name.prefix(40))") }
        #expect(files.taken() == [])
    }

    @Test func `The names are listed once: no unknown name touches a file, and a table is read once`() throws {
        let files = CountedFiles()
        let database = TimeZoneDatabase(files: files)
        #expect(database.rules("Mars/Olympus_Mons") == nil)
        #expect(files.taken() == ["names"])
        for number in 0..<10_000 { #expect(database.rules("Mars/Crater_\(number % 5_000)") == nil) }
        #expect(files.taken() == [])
        for _ in 0..<3 { #expect(database.rules("Europe/Berlin")?.current.offset(at: Int64(1_700_000_000)) == 3_600) }
        #expect(files.taken() == ["Europe/Berlin"])
    }

    @Test func `When the names cannot be listed, a zone is still found, and they are listed later`() throws {
        let files = CountedFiles(isListable: false)
        let database = TimeZoneDatabase(files: files)
        #expect(database.rules("Europe/Berlin") != nil)
        #expect(files.taken() == ["names", "Europe/Berlin"])
        #expect(database.rules("Europe/Paris") != nil)
        #expect(files.taken() == ["names", "Europe/Paris"])
    }

    @Test func `What is listed and no table is read once`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "zones-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder.appending(path: "Europe"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("no table".utf8).write(to: folder.appending(path: "Europe/Nowhere"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: "Europe/Loop").path,
            withDestinationPath: folder.path
        )
        let installed = InstalledTimeZones(folder: folder.path)
        #expect(installed.names() == ["Europe/Nowhere"])
        let database = TimeZoneDatabase(files: installed)
        #expect(database.rules("Europe/Nowhere") == nil)
        try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")).write(
            to: folder.appending(path: "Europe/Nowhere")
        )
        #expect(database.rules("Europe/Nowhere") == nil, "it is read again when another tz database is taken up")
        #expect(InstalledTimeZones(folder: folder.path + "/none").names() == nil)
    }

    @Test func `A table that is cut short or spoilt is none, and reading it ends`() throws {
        let bytes = try [UInt8](Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")))
        #expect(ZoneRules(bytes)?.offset(at: Int64(1_700_000_000)) == 3_600)
        for length in stride(from: 0, to: bytes.count, by: 3) { #expect(ZoneRules(Array(bytes.prefix(length))) == nil) }
        var changed = 0
        for index in bytes.indices {
            var spoilt = bytes
            spoilt[index] ^= 0xFF
            // Some bytes say nothing that matters; those that do must never make it read beyond the end.
            changed += ZoneRules(spoilt)?.offset(at: Int64(1_700_000_000)) == 3_600 ? 0 : 1
        }
        #expect(changed > 40)
    }

    @Test(arguments: [
        ("EST5", "2026-07-01T00:00:00Z", -5 * 3_600),
        ("<-0330>3:30", "2026-07-01T00:00:00Z", -12_600),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 3_600),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7_200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T00:59:59Z", 7_200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3_600),
        // Over New Year, and Ireland's winter time that is an hour behind its standard.
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-12-31T23:00:00Z", 39_600),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z", 36_000),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00Z", 0),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00:00Z", 3_600),
        // Hours before midnight and beyond 24.
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -7_200),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3_600),
        // J60 is 1 March in every year, 59 is 29 February in a leap year.
        ("A0B,J60/0,J300/0", "2028-02-29T23:59:59Z", -1), ("AAA0BBB,J60/0,J300/0", "2028-02-29T23:59:59Z", 0),
        ("AAA0BBB,J60/0,J300/0", "2028-03-01T00:00:00Z", 3_600), ("AAA0BBB,59/0,300/0", "2028-02-29T00:00:00Z", 3_600),
        ("AAA0BBB,59/0,300/0", "2028-02-28T23:59:59Z", 0), ("AAA0BBB,59/0,300/0", "2027-03-01T00:00:00Z", 3_600),
        ("", "2026-01-01T00:00:00Z", -1), ("CET", "2026-01-01T00:00:00Z", -1), ("CET-1CEST", "2026-01-01T00:00:00Z", -1),
        ("CET-1CEST,M13.5.0,M10.5.0", "2026-01-01T00:00:00Z", -1), ("CET-1CEST,M3.5.0", "2026-01-01T00:00:00Z", -1),
        ("CET-1CEST,M3.5.0,M10.5.0,", "2026-01-01T00:00:00Z", -1), ("<CET-1", "2026-01-01T00:00:00Z", -1),
    ]) func `Yearly rules`(text: String, at: String, offset: Int64) throws {
        let instant = try #require(Instant(rfc3339: at))
        // -1: refused.
        #expect((YearlyRule(text.utf8)?.offset(at: instant.seconds) ?? -1) == offset)
    }

    @Test func `Fixed offsets`() throws {
        #expect(try #require(Zone(offsetMinutes: -210)).name == "-03:30")
        #expect(try #require(Zone("+05:30")).offset(at: .epoch) == .minutes(330))
        #expect(Zone(offsetMinutes: 841) == nil)
    }

    @Test(arguments: [
        ("UTC", "2026-05-01", "2026-05-01T00:00:00Z"),
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00Z"),
        ("America/New_York", "2026-03-09", "2026-03-09T04:00:00Z"),
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-06", "2026-04-05T13:30:00Z"),
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z"),
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"),
        // The clock went from 00:01 back to 23:01 of the day before.
        ("America/St_Johns", "2010-11-07", "2010-11-07T02:30:00Z"),
    ]) func `The start of a date`(zone: String, date: String, start: String) throws {
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
