import Kernel
import Outbox
import SocialAPI
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime
@testable import SocialService

/// Of two friendships of a pair the later one has the greater id: `streaks` goes by it.
@Suite(.timeLimit(.minutes(2))) struct FriendshipOrderTests {
    @Test func `a later friendship has a greater id, also when the replica's clock is behind the other's`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            // Replicas whose ids come from clocks a year behind, a second behind, and ahead.
            let replicas = ([-31_536_000, -1, 5] as [Int64]).map { seconds in
                let clock = ManualClock(SystemClock.now() + .seconds(seconds))
                let work = UnitOfWorkFactory(
                    database: world.database,
                    clock: world.clock,
                    ids: UUIDv7Source(clock: clock),
                    relay: nil
                )
                return Service(
                    database: world.database,
                    bus: world.others,
                    mutations: Mutations(work: work, database: world.database)
                )
            }
            var ids = [try await world.befriend(ann, ben)]
            for round in 0..<12 {
                _ = try await world.remove(ann, try #require(ids.last))
                world.clock.advance(by: .minutes(20))
                let asked = try await replicas[round % 3].sendFriendRequest(
                    SendFriendRequestRequest(target: .userID(ben)),
                    context: World.by(ann)
                )
                _ = try await world.respond(ben, asked.friendshipID, .accept)
                ids.append(asked.friendshipID)
            }
            #expect(ids == ids.sorted() && Set(ids).count == 13)
        }
    }
}
