import Testing

@testable import Kernel

/// Zones as clients name them (AU-11).
struct ZoneAliasTests {
    @Test(arguments: [
        ("Europe/Berlin", "Europe/Berlin"), ("UTC", "UTC"), ("+05:30", "+05:30"), ("GMT", "GMT"), ("Etc/GMT+3", "Etc/GMT+3"),
        ("Asia/Hanoi", "Asia/Ho_Chi_Minh"), ("US/Pacific-New", "America/Los_Angeles"),
        ("Canada/East-Saskatchewan", "America/Regina"), ("Pacific Standard Time", "America/Los_Angeles"),
        ("Central Standard Time (Mexico)", "America/Mexico_City"), ("India Standard Time", "Asia/Kolkata"),
        ("GMT+03:00", "+03:00"), ("GMT-3:30", "-03:30"), ("GMT+0300", "+03:00"), ("GMT-330", "-03:30"), ("GMT+5", "+05:00"),
        ("UTC+14", "+14:00"), ("UTC-11:45", "-11:45"), ("GMT\u{2212}8", "-08:00"), ("UTC+00:00", "+00:00"),
    ]) func `A name that clients send becomes a zone of the database or an offset`(sent: String, name: String) throws {
        let zone = try #require(Zone(sent: sent))
        #expect(zone.name == name)
        #expect(Zone(zone.name) == zone, "its name is one that is stored and read again")
    }

    @Test(arguments: [
        "", " ", "PST", "IST", "Foo/Bar", "asia/kolkata", "GMT+15", "GMT+14:01", "GMT+03:60", "GMT+1:2", "GMT+", "GMT 3",
        "GMT+3:",
        "GMT+:30", "GMT+00300", "GMT++3", "GMT+３", "UTC+1e2", "EST+03:00", "=", "Asia/Hanoi=Asia/Bangkok", "../UTC", "+15:00",
        "GMT+3\u{0}", String(repeating: "x", count: 65),
    ]) func `What is no name of a zone is refused`(name: String) {
        #expect(Zone(sent: name) == nil)
    }

    @Test func `Every alias means a zone that the database has, and says it with its own name`() throws {
        let lines = Zone.aliasTable.split(separator: "\n")
        let names = Set(lines.compactMap { $0.split(separator: "=").first.map(String.init) })
        for line in lines {
            let parts = line.split(separator: "=").map(String.init)
            try #require(parts.count == 2, "\(line)")
            let (alias, target) = (parts[0], parts[1])
            #expect(Zone(target)?.name == target, "\(line)")
            #expect(Zone(sent: alias)?.name == (Zone(alias) == nil ? target : alias), "\(line)")
            #expect(!names.contains(target), "\(line): an alias of an alias")
        }
        #expect(lines.count > 300)
    }
}
