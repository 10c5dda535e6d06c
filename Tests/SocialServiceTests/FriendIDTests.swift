import Kernel
import SocialAPI
import TestSupport
import Testing

@testable import SocialService

/// The friends that a leaderboard is made of (CI-7).
struct FriendIDTests {
    @Test func `friends are those whose request was accepted and who are friends still, whichever asked`() async throws {
        try await withWorld { world in
            let (ann, ben, cat, dan) = (world.person(1), world.person(2), world.person(3), world.person(4))
            func friends(_ user: UserID) async throws -> Set<UserID> {
                Set(try await world.service.listFriendIDs(ListFriendIDsRequest(userID: user), context: World.by(user)).friendIDs)
            }
            let (first, second) = (try await world.request(ann, ben), try await world.request(cat, ann))
            _ = try await world.request(dan, ann)
            #expect(try await friends(ann).isEmpty)
            _ = try await world.respond(ben, first.friendshipID, .accept)
            _ = try await world.respond(ann, second.friendshipID, .accept)
            #expect(try await friends(ann) == [ben, cat])
            #expect(try await friends(cat) == [ann])
            _ = try await world.remove(ann, first.friendshipID)
            #expect(try await friends(ann) == [cat])
            #expect(try await friends(ben).isEmpty)
        }
    }
}
