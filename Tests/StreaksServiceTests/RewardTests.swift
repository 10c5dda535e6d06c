import AuthAPI
import BillingAPI
import Bus
import Database
import Kernel
import Replicas
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import Wire

@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksReminders
@testable import StreaksRewards

/// Rewards of check-ins on a database: each once, in the transaction that earns it (CI-5).
struct RewardTests {
    @Test func `a year earns every badge of a count once, opens everything, and gives premium once`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            try await world.start(ann)
            for _ in 1...365 {
                try await world.checkIn(ann)
                world.clock.advance(by: .days(1))
            }
            let earned = try await world.badges(ann)
            let counts = Badge.allCases.filter { $0.count.map { $0 <= 365 } ?? false }
            #expect(Set(earned) == Set(counts).union([.consistency, .perfectMonth]))
            let events = try await world.events(BadgeEarned.self)
            #expect(events.count == earned.count && events.allSatisfy { $0.title == Badge(rawValue: $0.badge)?.title })
            let ofMilestones = events.filter(\.isMilestone).compactMap { Badge(rawValue: $0.badge)?.count }
            #expect(ofMilestones == [3, 7, 14, 21, 30, 50, 100, 180, 365])
            #expect(
                try await world.events(UnlockEarned.self).map(\.unlock)
                    == Unlock.allCases.map(\.rawValue).sorted { left, right in
                        let (first, second) = (Unlock(rawValue: left)?.count ?? 0, Unlock(rawValue: right)?.count ?? 0)
                        return (first, left) < (second, right)
                    }
            )
            #expect(try await world.events(LifetimePremiumEarned.self).map(\.userID) == [ann])
            let shown = try #require(try await world.events(PublicRewardsChanged.self).last)
            #expect(shown.badge == "annual_legend" && shown.flame == "rainbow" && shown.crown && shown.goldFrame)
            #expect(shown.titles == ["streak_superstar", "hundred_club", "hall_of_fame"])
            // The versions grow by one.
            let versions = try await world.events(PublicRewardsChanged.self).map(\.version)
            #expect(versions == Array(1...Int64(versions.count)))
            // The free repair of the hundredth day, and none before the next year.
            #expect(try await world.giveRepairs() == 1)
            #expect(try await world.giveRepairs() == 0)
            world.clock.advance(by: .days(365))
            #expect(try await world.giveRepairs() == 1)
            #expect(try await GoodsStock.count(of: .repair, of: ann, world.database) == 2)
        }
    }

    @Test func `a freeze counts for Ice Warrior and spoils Consistency`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            try await world.start(ann, freezes: 5)
            try await world.checkIn(ann)
            // Two days later: one date was missed, and a freeze holds it.
            world.clock.advance(by: .days(2))
            for _ in 1...110 {
                try await world.checkIn(ann)
                world.clock.advance(by: .days(1))
            }
            let earned = try await world.badges(ann)
            #expect(earned.contains(.centurion) && !earned.contains(.consistency) && !earned.contains(.iceWarrior))
            let badges = try await world.getBadges(ann)
            #expect(badges.badges.first { $0.id == "ice_warrior" }?.progress == 1)
            #expect(badges.badges.first { $0.id == "consistency" }?.progress == 0)
            #expect(badges.earnedCount == Int32(earned.count))
        }
    }

    /// No request came in between: one change spends the freeze and returns it.
    @Test func `a freeze that a late check-in gives back at once holds no date`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            let streak = try await world.start(ann, freezes: 1)
            try await world.checkIn(ann)
            world.clock.set(moment("2026-05-03T01:00:00Z"))
            let captured = moment("2026-05-02T23:00:00Z")
            try await world.apply(.contribute(ann, receivedAt: world.clock.now(), capturedAt: captured), to: streak)
            let badges = try await world.getBadges(ann)
            #expect(badges.badges.first { $0.id == "ice_warrior" }?.progress == 0)
            #expect(badges.badges.first { $0.id == "consistency" }?.progress == 2)
        }
    }

    @Test func `freezes that were bought count for Investor, each purchase once`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            let streak = try await world.start(ann)
            try await world.checkIn(ann)
            for bought in 1...5 {
                // Twice with one id: the second says nothing new. Then a missed date spends it.
                let grant = StreakCommand.grantFreezes(1, id: OperationID(high: 9, low: UInt64(bought)))
                try await world.apply(grant, grant, to: streak)
                world.clock.advance(by: .days(2))
                try await world.checkIn(ann)
            }
            let investor = try await world.getBadges(ann).badges.first { $0.id == "investor" }
            #expect(investor?.progress == 5 && investor?.earned == false)
        }
    }

    @Test func `a milestone is celebrated once it was reached, and once`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            try await world.start(ann)
            let handler = CelebrateMilestone(mutations: world.mutations)
            await #expect(throws: ServiceError.self) {
                _ = try await handler.handle(CelebrateMilestoneRequest(milestoneType: "day_3"), world.by(ann))
            }
            for _ in 1...3 {
                try await world.checkIn(ann)
                world.clock.advance(by: .days(1))
            }
            let first = try await handler.handle(CelebrateMilestoneRequest(milestoneType: "day_3"), world.by(ann)).reply
            world.clock.advance(by: .hours(1))
            let again = try await handler.handle(CelebrateMilestoneRequest(milestoneType: "day_3"), world.by(ann)).reply
            #expect(first == again)
            #expect(try await Array(RewardRepository.celebrated(by: ann, world.database).keys) == [3])
            await #expect(throws: ServiceError.self) {
                _ = try await handler.handle(CelebrateMilestoneRequest(milestoneType: "day_4"), world.by(ann))
            }
        }
    }

    @Test func `flames are worn, premium wears any, and the end of premium takes it off`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            let handler = SetUnlock(mutations: world.mutations)
            func wear(_ unlock: Unlock, _ active: Bool = true) async throws -> String? {
                let request = SetUnlockRequest(unlock: unlock.rawValue, active: active)
                return try await handler.handle(request, world.by(ann)).reply.shown?.flame
            }
            await #expect(throws: ServiceError.self) { _ = try await wear(.goldFlame) }
            await #expect(throws: ServiceError.self) { _ = try await wear(.crown) }
            try await world.plan(ann, premium: true, version: 1)
            #expect(try await wear(.diamondFlame) == "diamond")
            try await world.plan(ann, premium: false, version: 2)
            #expect(try await world.events(PublicRewardsChanged.self).last?.flame == "orange")
            try await world.plan(ann, premium: true, version: 3)
            #expect(try await wear(.diamondFlame, false) == "orange")
        }
    }

    @Test func `the medal is asked for by who has reached a year, corrected until it is sent, and listed`() async throws {
        try await withCheckIns { world in
            let (ann, admin) = (try await world.person(1), try await world.person(9))
            let ask = RequestMedal(mutations: world.mutations)
            func request(_ line: String) -> RequestMedalRequest {
                RequestMedalRequest(name: "Ann", line1: line, city: "London", country: "gb")
            }
            await #expect(throws: ServiceError.self) { _ = try await ask.handle(request("1 Road"), world.by(ann)) }
            try await world.work.run(trace: "", requestID: "") { work in
                _ = try await RewardGrants.grant(unlocks: Unlock.opened(by: 365).map { .init(ann, $0) }, work)
            }
            let first = try await ask.handle(request("1 Road"), world.by(ann)).reply
            let second = try await ask.handle(request("2 Road"), world.by(ann)).reply
            #expect(first.medalID == second.medalID && second.address?.line1 == "2 Road" && second.address?.country == "GB")
            let list = ListMedals(database: world.database, profiles: world.core.profiles, work: world.work)
            #expect(try await list.handle(ListMedalsRequest(), world.by(admin, .admin)).medals.map(\.userID) == [ann])
            await #expect(throws: ServiceError.self) { _ = try await list.handle(ListMedalsRequest(), world.by(ann)) }
            let update = UpdateMedal(profiles: world.core.profiles, mutations: world.mutations)
            let sent = UpdateMedalRequest(medalID: first.medalID, status: .sent, trackingCode: "RR1")
            #expect(try await update.handle(sent, world.by(admin, .admin)).reply.medal?.trackingCode == "RR1")
            await #expect(throws: ServiceError.self) { _ = try await ask.handle(request("3 Road"), world.by(ann)) }

            // The Hall of Fame, until they opt out.
            let hall = GetHallOfFame(database: world.database, profiles: world.core.profiles, clock: world.clock)
            #expect(try await hall.handle(GetHallOfFameRequest(), world.by(ann)).entries.map(\.username) == ["person1"])
            let off = SetUnlockRequest(unlock: "hall_of_fame", active: false)
            _ = try await SetUnlock(mutations: world.mutations).handle(off, world.by(ann))
            #expect(try await hall.handle(GetHallOfFameRequest(), world.by(ann)).entries.isEmpty)
        }
    }

    @Test func `reminders come while there is no check-in, and each once`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            try await world.start(ann)
            try await world.checkIn(ann)
            try await world.remind(until: moment("2026-05-03T00:00:00Z"))
            let second = try await world.events(StreakReminderDue.self)
            // Count 1: the milestone of 3 is reached with tomorrow's check-in; no freeze is in hand.
            #expect(second.map(\.kind) == [.milestoneTomorrow, .afternoon, .evening])
            #expect(second.allSatisfy { $0.date == day("2026-05-02") && $0.milestone == ($0.kind == .milestoneTomorrow ? 3 : 0) })
            #expect(try await world.events(SoloStreaksAtRisk.self).map { $0.streaks.map(\.kind) } == [["check_in"]])
            // Broken: once on the evening of the first day, then on the second and the seventh.
            try await world.settle()
            try await world.remind(until: moment("2026-05-20T00:00:00Z"))
            let after = try await world.events(StreakReminderDue.self).dropFirst(3)
            #expect(after.map(\.kind) == [.firstDayAfterBreak, .secondDayAfterBreak, .seventhDayAfterBreak])
            #expect(after.map(\.date) == [day("2026-05-03"), day("2026-05-04"), day("2026-05-09")])
            #expect(after.allSatisfy { $0.currentCount == 1 && $0.repairableUntil == nil })
            #expect(try await SoloReminderRepository.oldestDue(world.database) == nil, "nothing waits any more")
        }
    }

    @Test func `who has checked in gets no reminder, nor who has paused`() async throws {
        try await withCheckIns { world in
            let ann = try await world.person(1)
            let streak = try await world.start(ann)
            for _ in 1...4 {
                try await world.checkIn(ann)
                try await world.remind(until: world.clock.now() + .hours(14))
                world.clock.advance(by: .hours(10))
            }
            #expect(try await world.events(StreakReminderDue.self).isEmpty)
            // On 5 May.
            try await world.apply(.pause(until: day("2026-05-09")), to: streak)
            try await world.remind(until: moment("2026-05-09T10:00:00Z"))
            #expect(try await world.events(StreakReminderDue.self).map(\.kind) == [.pauseEnded])
            #expect(try await world.events(SoloStreaksAtRisk.self).isEmpty)
        }
    }
}

/// Check-in streaks on a database of their own, with what follows them.
struct RewardWorld {
    let database: Database
    let clock: ManualClock
    let work: UnitOfWorkFactory
    let mutations: Mutations
    let core: StreaksCore

    static let extensions = StreakExtensions(
        kinds: [SoloEvents(.checkIn, feature: "check-ins")],
        followers: [RewardsFollower(), SoloReminderFollower()]
    )

    func by(_ user: UserID, _ role: Principal.Role = .user) -> CallContext {
        CallContext(deadline: SystemClock.now() + .minutes(2), principal: Principal(userID: user, role: role))
    }

    func person(_ number: UInt64) async throws -> UserID {
        let id = UserID(high: 1, low: number)
        let state = ProfileState(
            userID: id,
            version: 1,
            username: "person\(number)",
            displayName: "Person \(number)",
            timeZone: "UTC",
            status: .active,
            timeZoneSince: clock.now()
        )
        try await work.consume(ProfileChanged(userID: id, profile: state), by: [core.profiles.handler()])
        _ = try await work.run(trace: "", requestID: "") { work in
            try await ZoneRepository.add(.utc, of: id, since: clock.now(), work.sql)
        }
        return id
    }

    /// As the two consumers of billing's event, in the less convenient order.
    func plan(_ user: UserID, premium: Bool, version: Int64) async throws {
        let event = EntitlementsChanged(userID: user, version: version, plan: premium ? .premium : .free)
        try await work.consume(event, by: [PlanConsumer.handler])
        try await work.consume(event, by: [EntitlementReplica().handler()])
    }

    @discardableResult
    func start(_ user: UserID, freezes: Int = 0) async throws -> StreakID {
        try await work.run(trace: "", requestID: "") { work in
            try await core.writer.start(.init(.checkIn, of: [user], key: user.description, freezes: freezes), work)
        }
    }

    func apply(_ commands: StreakCommand..., to streak: StreakID) async throws {
        for command in commands {
            try await work.run(trace: "", requestID: "") { work in
                for stored in try await core.store.lock([streak], work.sql) {
                    _ = try await core.writer.apply(command, to: stored, work)
                }
            }
        }
    }

    func checkIn(_ user: UserID) async throws {
        let streak = try #require(try await core.store.streak(.checkIn, key: user.description, database))
        try await apply(.contribute(user, receivedAt: clock.now(), capturedAt: nil), to: streak)
    }

    func settle() async throws {
        try await work.run(trace: "", requestID: "") { work in
            let ids = try await database.query("SELECT id FROM streak").map { try $0.decode(as: StreakID.self) }
            _ = try await core.writer.settle(try await core.store.lock(ids, work.sql), work)
        }
    }

    /// Lets time pass, stopping whenever a reminder is due.
    func remind(until end: Instant) async throws {
        let job = SoloReminderJob(work: work, store: core.store).job
        while true {
            while try await job.run(clock.now()) > 0 {}
            guard let next = try await SoloReminderRepository.oldestDue(database), next < end else { break }
            clock.set(max(next, clock.now()))
        }
        clock.set(max(end, clock.now()))
    }

    func giveRepairs() async throws -> Int {
        try await YearlyRepairJob(database: database, work: work).job.run(clock.now())
    }

    func badges(_ user: UserID) async throws -> [Badge] { try await RewardRepository.badges(of: [user], database)[user] ?? [] }

    func getBadges(_ user: UserID) async throws -> GetBadgesReply {
        try await GetBadges(database: database, clock: clock).handle(GetBadgesRequest(), by(user))
    }

    /// The events of one kind emitted so far, in order.
    func events<E: Event>(_: E.Type) async throws -> [E] {
        try await database.query("SELECT body FROM outbox WHERE subject = \(E.subject) ORDER BY position")
            .map { try E(serialized: try $0.decode(as: [UInt8].self)) }
    }
}

private nonisolated(nonsending) func withCheckIns(_ body: (RewardWorld) async throws -> Void) async throws {
    try await template.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
        let clock = ManualClock(moment("2026-05-01T08:00:00Z"))
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
        let core = StreaksCore(database: database, bus: NoServices(), avatars: AvatarLinks(base: ""), RewardWorld.extensions)
        try await body(
            RewardWorld(
                database: database,
                clock: clock,
                work: work,
                mutations: Mutations(work: work, database: database),
                core: core
            )
        )
    }
}
