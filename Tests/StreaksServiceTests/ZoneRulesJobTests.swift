import AuthAPI
import Database
import Outbox
import StreaksAPI
import StreaksDomain
import Synchronization
import TestSupport
import Testing

@testable import Kernel
@testable import Runtime
@testable import StreaksCore
@testable import StreaksService

/// Newer zone data under running streaks: no date is lost or filled twice, and all replicas go by the same rules (SD-1, SD-3).
@Suite(.timeLimit(.minutes(5))) struct ZoneRulesJobTests {
    /// A tz database in memory.
    private final class Folder: TimeZoneFiles {
        private let state: Mutex<(version: String, files: [String: [UInt8]])>

        init(_ version: String, _ files: [String: [UInt8]]) { state = Mutex((version, files)) }

        func set(_ version: String, _ files: [String: [UInt8]]) { state.withLock { $0 = (version, files) } }
        func names() -> [String]? { state.withLock { Array($0.files.keys) } }
        func bytes(of name: String) -> [UInt8]? { state.withLock { $0.files[name] } }
        func version() -> ZoneVersion? { state.withLock { ZoneVersion($0.version) } }
    }

    /// A zone of a test's own, two people in it with a streak, and a replica whose folder gets newer data.
    private struct Place {
        let world: World
        let name: String
        let folder: Folder
        let job: ZoneRulesJob
        let old: [UInt8]
        let new: [UInt8]
        let a: UserID
        let b: UserID
        let streak: StreakID

        /// - Parameter hours: the offset by version 2020a, and by 2020b since 2026-05-01.
        static func make(_ world: World, _ name: String, _ hours: (old: Int, new: Int)) async throws -> Place {
            let old = zoneFile(hours.old)
            let folder = Folder("2020a", [name: old])
            TimeZoneDatabase.system.replace([name: try #require(ZoneRules(old))], version: nil)
            let job = replica(world, folder)
            #expect(try await job.step() == 0)
            let a = try await world.person(1, zone: name)
            let b = try await world.person(2, zone: name)
            return Place(
                world: world,
                name: name,
                folder: folder,
                job: job,
                old: old,
                new: zoneFile(hours.old, [(moment("2026-05-01T00:00:00Z"), hours.new)]),
                a: a,
                b: b,
                streak: try await world.befriend(a, b)
            )
        }

        /// A replica with this folder.
        ///
        /// - Parameter used: what it goes by; nil: what this process does, and with it every ledger here.
        static func replica(_ world: World, _ folder: Folder, used: TimeZoneDatabase? = nil) -> ZoneRulesJob {
            var job = ZoneRulesJob(writer: world.service.writer, work: world.work, logger: testLogger)
            job.folder = TimeZoneDatabase(files: folder)
            job.folder.look()
            job.used = used ?? .system
            return job
        }

        var row: StreakRow { get async throws { try #require(try await world.service.store.row(streak)) } }

        /// Both post, each date at this time, from the present date to the 5th.
        func postUntilTheFifth(at time: String) async throws {
            for day in 1...5 {
                world.clock.set(moment("2026-05-0\(day)T\(time)Z"))
                for user in [a, b] { #expect(try await world.post(user, to: [streak]).outcomes[0].refused == nil) }
            }
        }

        /// The newer data is put into the folder, and believed.
        func install() {
            folder.set("2020b", [name: new])
            job.folder.look(steadyFor: .zero)
        }

        /// The job runs, also after every replica has seen what it did; what is due is settled.
        func run() async throws {
            while try await job.step() > 0 {}
            world.clock.advance(by: ZoneRulesJob.spread)
            while try await job.step() > 0 {}
            world.clock.advance(by: SettlementJob.wait)
            try await world.settle()
        }

        /// The entries of a user's clock.
        func clock(of user: UserID) async throws -> [String] {
            try await world.database.query("SELECT since, zone FROM zone_change WHERE user_id = \(user) ORDER BY since").map {
                row in
                let (since, zone) = try row.decode(as: (Instant.self, String.self))
                return "\(since) \(zone)"
            }
        }

        /// The dates of a user's contributions.
        func dates(of user: UserID) async throws -> [String] {
            try await world.database.query(
                "SELECT on_date FROM contribution WHERE user_id = \(user) AND streak_id = \(streak) ORDER BY on_date"
            ).map { try $0.decode(as: CalendarDate.self).description }
        }
    }

    private static let week = (1...7).map { "2026-05-0\($0)" }

    @Test func `a clock that is set back: the open date goes on to its later end, and deadlines move there`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let place = try await Place.make(world, "Test/JobBack", (1, 0))
            try await place.postUntilTheFifth(at: "12:00:00")
            world.clock.set(moment("2026-05-06T12:00:00Z"))
            try await world.post(place.a, to: [place.streak])
            #expect(try await place.row.deadlineAt == moment("2026-05-06T23:00:00Z"))
            place.install()
            try await place.run()
            let row = try await place.row
            #expect(row.deadlineAt == moment("2026-05-07T00:00:00Z") && row.nextDue == row.deadlineAt && row.count == 5)
            #expect(try await place.clock(of: place.a) == ["2026-05-01T08:00:00Z +01:00", "2026-05-06T12:00:00Z Test/JobBack"])
            // The last hour of the date, which the older rules counted for the next one.
            world.clock.set(moment("2026-05-06T23:30:00Z"))
            try await world.settle()
            #expect(try await world.post(place.b, to: [place.streak]).outcomes[0].refused == nil)
            #expect(try await place.row.lastCompletedDate == day("2026-05-06"))
            world.clock.set(moment("2026-05-07T00:10:00Z"))
            for user in [place.a, place.b] {
                #expect(try await world.post(user, to: [place.streak]).outcomes[0].refused == nil)
                #expect(try await place.dates(of: user) == Self.week)
            }
            #expect(try await place.row.count == 7)
            #expect(try await world.events(StreakBroken.self).isEmpty)
        }
    }

    @Test func `a clock that is set forward: the open date ends as late as was said, the next one by the newer rules`()
        async throws
    {
        try await withWorld(at: "2026-05-01T18:00:00Z") { world in
            let place = try await Place.make(world, "Test/JobForward", (-8, -7))
            try await place.postUntilTheFifth(at: "20:00:00")
            world.clock.set(moment("2026-05-06T20:00:00Z"))
            try await world.post(place.a, to: [place.streak])
            place.install()
            try await place.run()
            #expect(try await place.row.deadlineAt == moment("2026-05-07T08:00:00Z"), "it was said, and one may rely on it")
            world.clock.set(moment("2026-05-07T07:30:00Z"))
            try await place.run()
            #expect(try await world.post(place.b, to: [place.streak]).outcomes[0].refused == nil)
            #expect(try await place.row.lastCompletedDate == day("2026-05-06"))
            world.clock.set(moment("2026-05-07T08:00:10Z"))
            try await place.run()
            let row = try await place.row
            #expect(row.deadlineAt == moment("2026-05-08T07:00:00Z") && row.nextDue == row.deadlineAt && row.count == 6)
            world.clock.set(moment("2026-05-08T06:30:00Z"))
            for user in [place.a, place.b] {
                #expect(try await world.post(user, to: [place.streak]).outcomes[0].refused == nil)
                #expect(try await place.dates(of: user) == Self.week)
            }
            #expect(try await place.row.count == 7)
            #expect(try await world.events(StreakBroken.self).isEmpty)
        }
    }

    @Test func `replicas go by what the database has: one that starts, one with older data, and none takes it up again`()
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let place = try await Place.make(world, "Test/JobReplicas", (1, 0))
            func hours(_ database: TimeZoneDatabase) -> Int64? {
                database.rules(place.name).map { $0.current.offset(at: moment("2026-05-06T12:00:00Z")).seconds / 3_600 }
            }
            // It runs while the data is taken up; its own folder has an older version.
            let stale = TimeZoneDatabase(files: Folder("2019c", [place.name: place.old]))
            stale.look()
            let older = Place.replica(world, Folder("2019c", [place.name: place.old]), used: stale)
            try await older.begin()
            #expect(hours(stale) == 1 && stale.isKept)
            world.clock.set(moment("2026-05-02T12:00:00Z"))
            place.install()
            try await place.run()
            #expect(try await older.step() == 0)
            #expect(hours(stale) == 0 && stale.version?.description == "2020b" && older.folder.installed?.description == "2019c")
            // One that starts with the folder of before, and one with the newer.
            for (version, file) in [("2020a", place.old), ("2020b", place.new)] {
                let used = TimeZoneDatabase(files: Folder(version, [place.name: file]))
                used.look()
                let replica = Place.replica(world, Folder(version, [place.name: file]), used: used)
                try await replica.begin()
                #expect(hours(used) == 0 && used.version?.description == "2020b", "\(version)")
                #expect(try await replica.step() == 0)
            }
            let kept = try await place.clock(of: place.a)
            try await place.run()
            #expect(try await place.clock(of: place.a) == kept && kept.count == 2)
        }
    }

    @Test func `a replica that starts with newer data goes by the older until the past is kept`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let place = try await Place.make(world, "Test/JobStart", (1, 0))
            world.clock.set(moment("2026-05-02T12:00:00Z"))
            let used = TimeZoneDatabase(files: Folder("2020b", [place.name: place.new]))
            used.look()
            let replica = Place.replica(world, Folder("2020b", [place.name: place.new]), used: used)
            try await replica.begin()
            let rules = try #require(used.rules(place.name))
            #expect(rules.current.offset(at: world.clock.now()) == .hours(1) && used.version?.description == "2020a")
            while try await replica.step() > 0 {}
            #expect(rules.current.offset(at: world.clock.now()) == .zero)
            #expect(try await place.clock(of: place.b) == ["2026-05-01T08:00:00Z +01:00", "2026-05-02T12:00:00Z Test/JobStart"])
        }
    }

    @Test func `a change of the user's that was made before and is consumed after takes the place of the way back`() async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let place = try await Place.make(world, "Test/JobLate", (1, 0))
            world.clock.set(moment("2026-05-02T12:00:00Z"))
            place.install()
            try await place.run()
            let profile = ProfileState(
                userID: place.a,
                version: 2,
                username: "person",
                displayName: "Person",
                timeZone: "Asia/Tokyo",
                status: .active,
                timeZoneSince: moment("2026-05-02T11:59:00Z")
            )
            for _ in 0..<2 { try await world.consume(ProfileChanged(userID: place.a, profile: profile)) }
            #expect(try await place.clock(of: place.a) == ["2026-05-01T08:00:00Z +01:00", "2026-05-02T11:59:00Z Asia/Tokyo"])
            #expect(try await place.clock(of: place.b).count == 2)
        }
    }

    @Test func `rules that are the same and compiled in another way touch no clock`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let place = try await Place.make(world, "Test/JobSame", (1, 0))
            place.folder.set("2020b", [place.name: zoneFile(1, [(moment("2026-05-01T00:00:00Z"), 1)])])
            place.job.folder.look(steadyFor: .zero)
            try await place.run()
            #expect(try await place.clock(of: place.a) == ["2026-05-01T08:00:00Z Test/JobSame"])
            #expect(try await ZoneRulesRepository.state(world.database)?.version.description == "2020b")
        }
    }

    @Test(arguments: [1, 3, 100])
    func `every user whose clock has followed a zone is found once, and no other, among thousands`(limit: Int) async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            _ = try await world.database.execute(
                """
                INSERT INTO zone_change (user_id, since, zone)
                SELECT ('00000000-0000-0003-0000-' || lpad(to_hex(n), 12, '0'))::uuid, \(world.clock.now()) + turn * interval '1 day',
                    CASE WHEN n % 997 = turn THEN 'Africa/Casablanca' ELSE 'Asia/Tokyo' END
                FROM generate_series(1, 7000) AS n, generate_series(1, 3) AS turn
                """
            )
            var found: [UserID] = []
            var reached: UserID?
            repeat {
                let last = reached
                let page = try await world.database.transaction { sql in
                    try await ZoneRulesRepository.page(of: ["Africa/Casablanca"], after: last, limit: limit, sql)
                }
                #expect(page.users.count <= limit)
                found += page.users
                reached = page.reached
            } while reached != nil
            #expect(found.count == 24 && Set(found).count == 24)
        }
    }
}
