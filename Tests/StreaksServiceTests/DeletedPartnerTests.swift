import AuthAPI
import Kernel
import SocialAPI
import StreaksAPI
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksMutual

/// Streaks with friends when one of the two deletes the account (AU-7): what the events say, for the partner, and what is counted, for who is
/// restored.
struct DeletedPartnerTests {
    private func count(_ user: UserID, _ world: World) async throws -> Int32? {
        try await CountEndedStreaks(database: world.database)
            .handle(CountEndedStreaksRequest(userID: user), World.by(user)).mutualStreaks
    }

    /// Ends of streaks with the account of a user.
    private func ends(_ world: World) async throws -> [StreakID: Int32] {
        let ended = try await world.events(StreakEnded.self).filter { $0.deletedUserID != nil }
        return Dictionary(ended.map { ($0.streakID, $0.count) }) { first, second in first + second }
    }

    private func deleted(_ user: UserID, at instant: Instant? = nil, _ world: World) -> AccountDeleted {
        let at = instant ?? world.clock.now()
        return AccountDeleted(userID: user, deletedAt: at, purgeAt: at + .days(30))
    }

    private func unfriended(_ one: UserID, _ two: UserID, deleted: UserID? = nil, _ world: World) -> FriendshipEnded {
        FriendshipEnded(
            friendshipID: World.friendship(one, two),
            userAID: min(one, two),
            userBID: max(one, two),
            endedAt: world.clock.now(),
            deletedUserID: deleted
        )
    }

    @Test(arguments: [true, false], [1, 2])
    func `each streak ends once with its count, whichever event comes first and how often`(accountFirst: Bool, times: Int)
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            let (ran, fresh) = (try await world.befriend(ann, ben), try await world.befriend(ann, cem))
            for person in [ann, ben] { try await world.post(person, to: [ran]) }
            #expect(try await count(ann, world) == nil, "nothing is known before")
            for _ in 0..<times {
                if accountFirst { try await world.consume(deleted(ann, world)) }
                for friend in [ben, cem] { try await world.consume(unfriended(ann, friend, deleted: ann, world)) }
                if !accountFirst { try await world.consume(deleted(ann, world)) }
            }
            #expect(try await ends(world) == [ran: 1, fresh: 0])
            #expect(try await world.events(StreakEnded.self).allSatisfy { $0.deletedUserID == ann })
            #expect(try await world.events(StreakBroken.self).isEmpty)
            #expect(try await count(ann, world) == 1)
            #expect(try await count(ben, world) == 0, "the partner's account is not the one")
        }
    }

    @Test func `a streak that was broken or unfriended before is not one that ended with the account`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            let (broken, unfriended) = (try await world.befriend(ann, ben), try await world.befriend(ann, cem))
            for person in [ann, ben, cem] {
                try await world.post(person, to: [person == cem ? unfriended : broken] + (person == ann ? [unfriended] : []))
            }
            try await world.consume(self.unfriended(ann, cem, world))
            world.clock.advance(by: .hours(42))
            try await world.settle()
            try await world.consume(deleted(ann, world))
            #expect(try await ends(world) == [broken: 0])
            #expect(try await count(ann, world) == 0)
        }
    }

    @Test func `an account that was deleted before the date was over ends the streak, however late it is known`()
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for person in [ann, ben] { try await world.post(person, to: [streak]) }
            world.clock.set(moment("2026-05-02T20:00:00Z"))
            let event = deleted(ann, world)
            world.clock.set(moment("2026-05-03T06:00:00Z"))
            try await world.consume(event)
            try await world.settle()
            #expect(try await ends(world) == [streak: 1])
            #expect(try await world.events(StreakBroken.self).isEmpty)
            #expect(try await world.events(StreakEnded.self).map(\.endedAt) == [event.deletedAt])
        }
    }

    @Test func `after a restoration it is counted anew, and the streaks stay ended`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for person in [ann, ben] { try await world.post(person, to: [streak]) }
            try await world.consume(deleted(ann, world))
            #expect(try await count(ann, world) == 1)
            try await world.consume(AccountRestored(userID: ann, restoredAt: world.clock.now()))
            try await world.consume(deleted(ann, world))
            #expect(try await count(ann, world) == 0)
            #expect(try await ends(world) == [streak: 1])
        }
    }
}
