import Bus
import Kernel
import ServiceRuntime
import SocialAPI
import Testing
import Wire

/// What a client can send that works out a cursor's checksum: any position, which the database must bear (PF-3).
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

    /// The cursor of a list for a position that need not be an entry's.
    private func cursor(_ request: some PagedRequest, at position: PageCursor, _ context: CallContext) throws -> String {
        let page = try Page<PageCursor>(request, context)
        let rows = Array(repeating: position, count: page.limit + 1)
        return try #require(page.entries(rows) { $0 }.meta.nextCursor)
    }

    @Test func `any position that can be made leads to a page of one's own entries`() async throws {
        try await withWorld { world in
            let (ann, ben, cat) = (world.person(1), world.person(2), world.person(3))
            try await world.befriend(ann, ben)
            _ = try await world.request(cat, ann)
            let dan = world.person(4)
            _ = try await world.block(ann, dan)
            let mine = World.by(ann)
            for position in Self.positions {
                let isAfter = position.instant > world.clock.now()
                let listed = try await world.service.listFriends(
                    ListFriendsRequest(cursor: try cursor(ListFriendsRequest(limit: 1), at: position, mine)),
                    context: mine
                )
                let blocked = try await world.service.listBlocks(
                    ListBlocksRequest(cursor: try cursor(ListBlocksRequest(limit: 1), at: position, mine)),
                    context: mine
                )
                let asked = try await world.service.listFriendRequests(
                    ListFriendRequestsRequest(
                        direction: .incoming,
                        cursor: try cursor(ListFriendRequestsRequest(direction: .incoming, limit: 1), at: position, mine)
                    ),
                    context: mine
                )
                if position.instant != world.clock.now() {
                    #expect(
                        [listed.friends.count, blocked.blocks.count, asked.requests.count] == (isAfter ? [1, 1, 1] : [0, 0, 0])
                    )
                }
                #expect(listed.friends.allSatisfy { $0.user?.userID == ben })
                let filed = try await world.service.listReports(
                    ListReportsRequest(cursor: try cursor(ListReportsRequest(status: .pending, limit: 1), at: position, mine)),
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

    @Test func `reports of the default status and of that status named are one list, at any offset`() async throws {
        try await withWorld { world in
            for number in 2...5 as ClosedRange<UInt64> {
                world.clock.advance(by: .seconds(1))
                let subject = world.person(number).cast(to: Tag.Subject.self)
                _ = try await world.service.report(
                    ReportRequest(subjectType: .user, subjectID: subject, reason: .spam),
                    context: World.by(world.person(number + 10))
                )
            }
            let moderator = World.by(world.person(1), role: .admin)
            let page = try await world.service.listReports(ListReportsRequest(limit: 1), context: moderator)
            let next = try #require(page.meta?.nextCursor)
            for status in [ReportStatus.unspecified, .pending] {
                for offset in 0...3 as ClosedRange<Int32> {
                    let request = ListReportsRequest(status: status, limit: 10, cursor: next, offset: offset)
                    let rest = try await world.service.listReports(request, context: moderator).reports
                    #expect(rest.map(\.subjectID.low) == Array(([4, 3, 2] as [UInt64]).dropFirst(Int(offset))))
                }
            }
            let other = ListReportsRequest(status: .dismissed, limit: 10, cursor: next)
            let error = await #expect(throws: ServiceError.self) {
                try await world.service.listReports(other, context: moderator)
            }
            #expect(error?.details.map(\.field) == ["cursor"])
        }
    }
}
