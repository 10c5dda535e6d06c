import Foundation
import Synchronization
import Testing

@testable import Kernel

/// Versions of the tz database, and a newer one that comes while the process runs.
@Suite struct TimeZoneDatabaseTests {
    /// A tz database in memory.
    private final class Folder: TimeZoneFiles {
        private let state: Mutex<(version: String, files: [String: [UInt8]])>

        init(_ version: String, _ files: [String: [UInt8]]) { state = Mutex((version, files)) }

        func set(_ version: String, _ files: [String: [UInt8]]) { state.withLock { $0 = (version, files) } }
        func names() -> [String]? { state.withLock { Array($0.files.keys) } }
        func bytes(of name: String) -> [UInt8]? { state.withLock { $0.files[name] } }
        func version() -> ZoneVersion? { state.withLock { ZoneVersion($0.version) } }
    }

    private static let noon = Instant(seconds: 1_782_907_200)

    /// The compiled file of a zone that is always so many hours ahead.
    private func file(hours: Int) throws -> [UInt8] {
        // The signs of these names are those of POSIX.
        try #require(InstalledTimeZones().bytes(of: "Etc/GMT" + (hours == 0 ? "" : hours > 0 ? "-\(hours)" : "+\(-hours)")))
    }

    private func hours(_ database: TimeZoneDatabase, _ name: String) -> Int64? {
        database.rules(name).map { $0.current.offset(at: Self.noon).seconds / 3_600 }
    }

    @Test(arguments: [
        ("2025b", "2025b", 202_502), ("2026f", "2026f", 202_606), ("2026a-1", "2026a", 202_601), ("2026za", "2026za", 202_627),
    ])
    func `A version is read and written as IANA names it`(text: String, name: String, number: Int) throws {
        let version = try #require(ZoneVersion(text))
        #expect(version.description == name && version.number == number)
    }

    @Test(arguments: ["", "2026", "f", "2026F", "26f", "2026ff", "2026f1", "1989a", "2026f 2", "version", "2026.6"])
    func `What is no version is refused`(text: String) { #expect(ZoneVersion(text) == nil) }

    @Test func `Later versions are greater, also after the letter z`() throws {
        let names = ["2025b", "2025z", "2025za", "2026a", "2026f"]
        let versions = try names.map { try #require(ZoneVersion($0)) }
        #expect(versions.shuffled().sorted() == versions)
    }

    @Test func `The version is the first line of tzdata zi, or the file +VERSION`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "zones-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = InstalledTimeZones(folder: folder.path)
        #expect(files.version() == nil)
        try Data("2025a\n".utf8).write(to: folder.appending(path: "+VERSION"))
        #expect(files.version()?.description == "2025a")
        try Data("# version 2026f\n# redo posix_only\nR A".utf8).write(to: folder.appending(path: "tzdata.zi"))
        #expect(files.version()?.description == "2026f")
        try Data("no version".utf8).write(to: folder.appending(path: "tzdata.zi"))
        #expect(files.version()?.description == "2025a")
    }

    @Test
    func `A newer version is noticed when it has been there for a while, and holds for the zones there are once it is taken up`()
        throws
    {
        let folder = Folder("2025b", ["Test/Moving": try file(hours: 1), "Test/Still": try file(hours: 2)])
        let database = TimeZoneDatabase(files: folder)
        let start = ContinuousClock.now
        #expect(!database.look(at: start) && database.version?.description == "2025b")
        let used = try #require(database.rules("Test/Moving"))
        #expect(used.current.start(ofDay: 20_000) == 20_000 * 86_400 - 3_600)
        folder.set(
            "2025c",
            ["Test/Moving": try file(hours: 0), "Test/Still": try file(hours: 2), "Test/New": try file(hours: 3)]
        )
        #expect(!database.look(at: start) && !database.look(at: start + .seconds(29)), "its files may still be coming")
        #expect(database.look(at: start + .seconds(30)))
        #expect(database.installed?.description == "2025c" && database.version?.description == "2025b")
        #expect(hours(database, "Test/Moving") == 1)
        database.takeUp()
        #expect(database.version?.description == "2025c" && !database.look(at: start + .seconds(60)))
        #expect(used.current.offset(at: Self.noon) == .zero && used.current.start(ofDay: 20_000) == 20_000 * 86_400)
        #expect(hours(database, "Test/Moving") == 0 && hours(database, "Test/Still") == 2 && hours(database, "Test/New") == 3)
    }

    @Test func `An older version is reported and not taken up, and what cannot be read stays`() throws {
        let folder = Folder("2026b", ["Test/Moving": try file(hours: 1), "Test/Gone": try file(hours: 4)])
        let database = TimeZoneDatabase(files: folder)
        #expect(!database.look(steadyFor: .zero) && hours(database, "Test/Moving") == 1 && hours(database, "Test/Gone") == 4)
        folder.set("2026a", ["Test/Moving": try file(hours: 0)])
        #expect(!database.look(steadyFor: .zero))
        #expect(database.installed?.description == "2026a" && database.version?.description == "2026b")
        #expect(database.newest == max(.newestKnown, try #require(ZoneVersion("2026b"))))
        folder.set("2026c", ["Test/Moving": Array("no table".utf8)])
        #expect(database.look(steadyFor: .zero))
        database.takeUp()
        #expect(hours(database, "Test/Moving") == 1 && hours(database, "Test/Gone") == 4)
    }

    @Test func `Who keeps the rules decides when each zone changes, whatever the folder has meanwhile`() throws {
        let folder = Folder("2026a", ["Test/One": try file(hours: 1), "Test/Two": try file(hours: 2)])
        let database = TimeZoneDatabase(files: folder)
        database.look()
        database.keep()
        folder.set("2026b", ["Test/One": try file(hours: 5), "Test/Two": try file(hours: 6)])
        #expect(database.isKept && hours(database, "Test/One") == 1 && hours(database, "Test/Two") == 2)
        let offered = try #require(database.file(of: "Test/One").flatMap(ZoneRules.init))
        database.replace(["Test/One": offered], version: nil)
        #expect(hours(database, "Test/One") == 5 && hours(database, "Test/Two") == 2)
        #expect(database.version?.description == "2026a")
        database.replace([:], version: ZoneVersion("2026b"))
        #expect(database.version?.description == "2026b")
    }

    @Test func `Two versions of a zone differ where their clocks did, piece by piece`() throws {
        func rules(_ name: String) throws -> ZoneRules {
            try #require(InstalledTimeZones().bytes(of: name).flatMap(ZoneRules.init))
        }
        func at(_ text: String) throws -> Instant { try #require(Instant(rfc3339: text)) }
        // Paris and Algiers agree in winter, Paris and London never.
        let (paris, algiers) = (try rules("Europe/Paris"), try rules("Africa/Algiers"))
        let found = paris.differences(from: algiers, in: try at("2040-01-01T00:00:00Z")..<(try at("2042-06-01T00:00:00Z")))
        #expect(found.map(\.offset) == [.hours(2), .hours(2), .hours(2)])
        #expect(found.map(\.from.description) == ["2040-03-25T01:00:00Z", "2041-03-31T01:00:00Z", "2042-03-30T01:00:00Z"])
        #expect(found.map(\.until.description) == ["2040-10-28T01:00:00Z", "2041-10-27T01:00:00Z", "2042-06-01T00:00:00Z"])
        let other = paris.differences(
            from: try rules("Europe/London"),
            in: try at("2030-01-01T00:00:00Z")..<(try at("2031-01-01T00:00:00Z"))
        )
        #expect(other.map(\.offset) == [.hours(1), .hours(2), .hours(1)])
        #expect(zip(other, other.dropFirst()).allSatisfy { $0.until == $1.from })
        #expect(paris.differences(from: paris, in: .epoch..<(try at("2100-01-01T00:00:00Z"))).isEmpty)
    }
}
