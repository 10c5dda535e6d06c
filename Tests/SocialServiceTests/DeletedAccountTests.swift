import AuthAPI
import Bus
import Kernel
import Outbox
import SocialAPI
import TestSupport
import Testing

@testable import Outbox
@testable import ServiceRuntime
@testable import SocialCircles
@testable import SocialCore
@testable import SocialFriends

/// What ends with an account, and what is known of it when the account is restored (AU-7).
struct DeletedAccountTests {
    private func consume(_ event: AccountDeleted, by handlers: [EventHandler], _ world: World) async throws {
        let body = try event.serialized()
        for handler in handlers where handler.subject == AccountDeleted.subject {
            try await world.service.mutations.work.run(trace: "", requestID: "") { work in
                let stored = StoredEvent(
                    id: work.ids.make(),
                    aggregate: event.aggregateID,
                    subject: handler.subject,
                    trace: "",
                    requestID: "",
                    body: body
                )
                try await handler.handle(stored, work)
            }
        }
    }

    private func count(_ user: UserID, _ deletedAt: Instant, _ world: World) async throws -> CountEndedTiesReply {
        try await CountEndedTies(database: world.database)
            .handle(CountEndedTiesRequest(userID: user, deletedAt: deletedAt), World.by(user))
    }

    @Test func `friendships and circles that ended are counted, requests are not, and a repeat changes nothing`() async throws {
        try await withWorld { world in
            let circles = Circles(world)
            let (ann, ben, cem, dan) = (world.person(1), world.person(2), world.person(3), world.person(4))
            for friend in [ben, cem] { try await world.befriend(ann, friend) }
            _ = try await world.request(ann, dan)
            let shared = try await circles.create(ben)
            try await circles.join(ann, try #require(shared.invite?.code))
            _ = try await circles.create(ann, "Alone")
            _ = try await world.events()

            let at = world.clock.now()
            let deleted = AccountDeleted(userID: ann, deletedAt: at, purgeAt: at + .days(30))
            let (friends, others) = (LifecycleConsumers.all, AccountConsumers(changes: circles.changes).handlers)
            #expect(try await count(ann, at, world) == CountEndedTiesReply(), "nothing is known before")
            try await consume(deleted, by: friends, world)
            #expect(try await count(ann, at, world) == CountEndedTiesReply(friendships: 2), "circles have not applied it yet")
            try await consume(deleted, by: others, world)
            for _ in 0..<2 {
                #expect(try await count(ann, at, world) == CountEndedTiesReply(friendships: 2, circles: 2))
                try await consume(deleted, by: friends + others, world)
            }
            #expect(try await count(ann, at + .days(1), world) == CountEndedTiesReply(), "of another deletion nothing is known")
            #expect(try await count(ben, at, world) == CountEndedTiesReply())

            // Restored, and deleted once more with less.
            try await world.befriend(ann, ben)
            let again = AccountDeleted(userID: ann, deletedAt: at + .days(2), purgeAt: at + .days(32))
            try await consume(again, by: friends + others, world)
            #expect(try await count(ann, at + .days(2), world) == CountEndedTiesReply(friendships: 1, circles: 0))
        }
    }

    @Test func `the end of a friendship says whose account was deleted, and only then`() async throws {
        try await withWorld { world in
            let (ann, ben, cem) = (world.person(1), world.person(2), world.person(3))
            let removed = try await world.befriend(ann, cem)
            try await world.befriend(ann, ben)
            _ = try await world.remove(ann, removed)
            let at = world.clock.now()
            try await consume(AccountDeleted(userID: ann, deletedAt: at), by: LifecycleConsumers.all, world)
            let ended = try await world.database.query(
                "SELECT body FROM outbox WHERE subject = \(FriendshipEnded.subject) ORDER BY position"
            ).map { try FriendshipEnded(serialized: try $0.decode(as: [UInt8].self)) }
            #expect(ended.map(\.deletedUserID) == [nil, ann])
        }
    }
}
