import Kernel
import SocialAPI
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// Which dates lists and memberships call over: those of the whole zone histories (SD-4, PH-4), however little of them is read.
struct OpenDateTests {
    private static let zones = [
        "UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland", "-12:00", "+14:00",
    ]

    @Test(arguments: [1, 2, 3] as [UInt64]) func `dates are over by the whole history of both clocks, whenever these changed`(
        seed: UInt64
    ) async throws {
        try await withWorld(at: "2026-05-01T11:00:00Z") { world in
            var random = Seeded(seed)
            var clocks: [UserID: ZoneHistory] = [:]
            var users: [UserID] = []
            for number in 1...6 as ClosedRange<UInt64> {
                let zone = random.pick(Self.zones)
                let person = try await world.person(number, zone: zone)
                users.append(person)
                clocks[person] = ZoneHistory(try #require(Zone(zone)))
            }
            var streaks: [StreakID: (UserID, UserID)] = [:]
            for pair in [(0, 1), (0, 2), (3, 4), (4, 5)] {
                streaks[try await world.befriend(users[pair.0], users[pair.1])] = (users[pair.0], users[pair.1])
            }
            for version in 2...40 as ClosedRange<Int64> {
                world.clock.set(world.clock.now() + .minutes(random.pick([1, 180, 600, 1_500, 2_879, 2_881])))
                let number = Int.random(in: 0..<users.count, using: &random)
                let zone = random.pick(Self.zones)
                try await world.person(UInt64(number) + 1, zone: zone, version: version)
                clocks[users[number]]?.change(to: try #require(Zone(zone)), at: world.clock.now())
                for (streak, (one, two)) in streaks {
                    for (reader, friend) in [(one, two), (two, one)] {
                        try await check(world, streak, reader, friend, clocks)
                    }
                }
            }
        }
    }

    private func check(
        _ world: World,
        _ streak: StreakID,
        _ reader: UserID,
        _ friend: UserID,
        _ clocks: [UserID: ZoneHistory]
    ) async throws {
        let now = world.clock.now()
        let (yours, theirs) = (try #require(clocks[reader]), try #require(clocks[friend]))
        let openFrom = min(yours.openFrom(at: now), theirs.openFrom(at: now))
        let open = try await world.service.listOpenDates(
            ListOpenDatesRequest(userID: reader),
            context: World.by(reader)
        ).streaks.first { $0.streakID == streak }
        #expect(open?.yourDate == yours.date(at: now))
        #expect(open?.friendDate == theirs.date(at: now))
        #expect(open?.openFrom == openFrom)
        #expect(open?.friendNewestDate == theirs.openFrom(at: now))
        let membership = try await world.service.getMembership(
            GetMembershipRequest(userID: reader, streakID: streak),
            context: World.by(reader)
        )
        #expect(membership.openFrom == openFrom)
    }

    @Test func `what was not over when a friendship ended stays closed, also when the two are friends again`() async throws {
        try await withWorld(at: "2026-05-01T11:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, zone: "Pacific/Kiritimati"))
            let streak = try await world.befriend(ann, ben)
            let rows = try await world.database.query("SELECT friendship_id FROM mutual_streak WHERE streak_id = \(streak)")
            let friendship = try #require(try rows.first?.decode(as: FriendshipID.self))
            func openFrom() async throws -> String? {
                try await world.service.getMembership(
                    GetMembershipRequest(userID: ann, streakID: streak),
                    context: World.by(ann)
                ).openFrom?.description
            }
            let ended = FriendshipEnded(
                friendshipID: friendship,
                userAID: min(ann, ben),
                userBID: max(ann, ben),
                endedAt: world.clock.now()
            )
            // It comes after midnight: the end counts, not the event.
            world.clock.set(moment("2026-05-02T00:30:00Z"))
            #expect(try await openFrom() == "2026-05-02", "friends as far as is known here")
            for _ in 0..<2 { try await world.consume(ended) }
            #expect(try await openFrom() == "2026-05-01")
            let again = StartForFriendshipRequest(friendshipID: FriendshipID(high: 9, low: 9), userAID: ann, userBID: ben)
            let new = try await world.service.startForFriendship(again, context: World.by(ann))
            #expect(new.streakID != nil && new.streakID != streak)
            world.clock.set(moment("2026-06-01T11:00:00Z"))
            #expect(try await openFrom() == "2026-05-01", "the new streak opens nothing of the old one")
        }
    }

    @Test func `the end of a streak makes no date over`() async throws {
        try await withWorld(at: "2026-05-01T11:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for stored in try await world.service.store.load([streak]) {
                try await world.work.run(trace: "", requestID: "") { work in
                    for locked in try await world.service.store.lock([stored.row.id], work.sql) {
                        _ = try await world.service.writer.apply(.end, to: locked, work)
                    }
                }
            }
            func openFrom() async throws -> String? {
                try await world.service.getMembership(
                    GetMembershipRequest(userID: ann, streakID: streak),
                    context: World.by(ann)
                ).openFrom?.description
            }
            #expect(try await openFrom() == "2026-05-01")
            world.clock.set(moment("2026-05-02T00:00:00Z"))
            #expect(try await openFrom() == "2026-05-02")
        }
    }
}
