import Kernel
import SocialAPI
import TestSupport
import Testing

@testable import SocialService

/// What became of requests, for the notifications about them.
struct RequestStateTests {
    @Test func `each of the two learns what became of a request, and no other user does`() async throws {
        try await withWorld { world in
            let (ann, ben, cat) = (world.person(1), world.person(2), world.person(3))
            let asked = try await world.request(ann, ben).friendshipID
            let other = try await world.request(cat, ben).friendshipID
            func states(_ user: UserID) async throws -> [FriendshipID: FriendshipStatus] {
                let request = GetRequestStatesRequest(userID: user, friendshipIDs: [asked, other, FriendshipID(high: 1, low: 1)])
                let reply = try await world.service.getRequestStates(request, context: World.by(user))
                return Dictionary(
                    reply.friendships.map { ($0.friendshipID, $0.status) },
                    uniquingKeysWith: { first, _ in first }
                )
            }
            #expect(try await states(ben) == [asked: .pending, other: .pending])
            _ = try await world.respond(ben, asked, .accept)
            _ = try await world.respond(ben, other, .decline)
            #expect(try await states(ben) == [asked: .accepted, other: .declined])
            #expect(try await states(ann) == [asked: .accepted])
            _ = try await world.remove(ann, asked)
            #expect(try await states(ann) == [asked: .ended])
        }
    }
}
