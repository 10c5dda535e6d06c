import Kernel
import SocialAPI
import Testing

@testable import Runtime
@testable import ServiceRuntime
@testable import SocialService

/// What somebody can send who works out a cursor's checksum: any position, which the database must bear (PF-3).
@Suite(.timeLimit(.minutes(2))) struct CursorTests {
    private struct Thing {}

    private static let positions: [PageCursor] = [
        Instant.writable.lowerBound, Instant.writable.upperBound, .epoch, Instant(seconds: 1_700_000_000),
    ].flatMap { instant in
        [UInt64.min, .max, 1 << 63].flatMap { half in
            [
                PageCursor(after: instant, ID<Thing>(high: half, low: ~half)),
                PageCursor(after: instant, ID<Thing>(high: half, low: half)),
            ]
        }
    }

    @Test func `any position that can be made leads to a page of one's own entries`() async throws {
        try await withWorld { world in
            let (ann, ben, cat) = (world.person(1), world.person(2), world.person(3))
            try await world.befriend(ann, ben)
            _ = try await world.request(cat, ann)
            let dan = world.person(4)
            _ = try await world.block(ann, dan)
            let (friends, blocks) = (CursorScope("social.ListFriends", of: ann), CursorScope("social.ListBlocks", of: ann))
            let requests = CursorScope("social.ListFriendRequests", of: ann, filters: ["other"])
            let reports = CursorScope("social.ListReports", of: ann, filters: ["pending"])
            let mine = World.by(ann)
            for position in Self.positions {
                let isAfter = position.instant > world.clock.now()
                let listed = try await world.service.listFriends(
                    ListFriendsRequest(cursor: friends.text(after: position)),
                    context: mine
                )
                let blocked = try await world.service.listBlocks(
                    ListBlocksRequest(cursor: blocks.text(after: position)),
                    context: mine
                )
                let asked = try await world.service.listFriendRequests(
                    ListFriendRequestsRequest(direction: .incoming, cursor: requests.text(after: position)),
                    context: mine
                )
                if position.instant != world.clock.now() {
                    #expect(
                        [listed.friends.count, blocked.blocks.count, asked.requests.count] == (isAfter ? [1, 1, 1] : [0, 0, 0])
                    )
                }
                #expect(listed.friends.allSatisfy { $0.user?.userID == ben.description })
                let filed = try await world.service.listReports(
                    ListReportsRequest(cursor: reports.text(after: position)),
                    context: World.by(ann, role: .admin)
                )
                #expect(filed.reports.isEmpty)
            }
        }
    }

    @Test func `a cursor of other filters is refused`() async throws {
        try await withWorld { world in
            let ann = world.person(1)
            for number in 2...4 { _ = try await world.request(ann, world.person(UInt64(number))) }
            let context = World.by(ann)
            let page = try await world.service.listFriendRequests(
                ListFriendRequestsRequest(direction: .outgoing, limit: 1),
                context: context
            )
            let next = try #require(page.meta?.nextCursor)
            for limit in [1, 2, 50] as [Int32] {
                let request = ListFriendRequestsRequest(direction: .outgoing, limit: limit, cursor: next)
                #expect(
                    try await world.service.listFriendRequests(request, context: context).requests.count == min(Int(limit), 2)
                )
            }
            for direction in [Direction.incoming, .unspecified] {
                let error = await #expect(throws: ServiceError.self) {
                    try await world.service.listFriendRequests(
                        ListFriendRequestsRequest(direction: direction, cursor: next),
                        context: context
                    )
                }
                #expect(error?.details.map(\.field) == ["cursor"])
            }
        }
    }
}
