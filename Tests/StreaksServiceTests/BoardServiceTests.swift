import AuthAPI
import Bus
import Database
import Kernel
import Outbox
import Replicas
import SocialAPI
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import Wire

@testable import StreaksCore
@testable import StreaksLeaderboards

/// `social`, of whom only friends are asked.
private struct Friends: Caller {
    let ids: [UserID]

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _: Request, context _: CallContext) async throws
        -> Reply
    {
        guard let reply = ListFriendIDsReply(friendIDs: ids) as? Reply else { throw ServiceError.unavailable() }
        return reply
    }
}

/// Check-in streaks of one person each, written by the store and ranked by a replica.
private struct BoardWorld {
    static let extensions = StreakExtensions(
        kinds: [SoloEvents(.checkIn, feature: "checkins")],
        followers: [BoardFollower()]
    )

    let world: World
    let core: StreaksCore
    let boards: Boards
    var database: Database { world.database }
    var writer: StreakWriter { core.writer }

    init(_ world: World) {
        self.world = world
        core = StreaksCore(database: world.database, bus: NoServices(), avatars: AvatarLinks(base: ""), Self.extensions)
        boards = Boards(database: world.database, clock: world.clock)
    }

    func replies(friends: [UserID] = []) -> BoardReplies {
        let entries = BoardEntries(database: database, profiles: core.profiles, clock: world.clock)
        return BoardReplies(
            boards: boards,
            pages: GlobalPages(boards: boards, entries: entries, life: .zero),
            entries: entries,
            blocks: core.blocks,
            friends: FriendsClient(Friends(ids: friends)),
            circles: core.circles,
            views: ViewCounter(clock: world.clock)
        )
    }

    /// Streaks as the store leaves them, many at once.
    func seed(_ count: Int, _ score: (Int) -> (count: Int, longest: Int, start: CalendarDate)) async throws {
        let numbers = Array(1...count)
        let users = numbers.map { UserID(high: 1, low: UInt64($0)) }
        let scores = numbers.map(score)
        let ids = numbers.map { StreakID(high: 2, low: UInt64($0)) }
        try await database.execute(
            """
            INSERT INTO streak (id, kind, started_at, status, current_count, longest_count, run_start, settled_at)
            SELECT id, \(StreakKind.checkIn.rawValue), \(world.clock.now()), 1, count, longest, start, \(world.clock.now())
            FROM unnest(\(ids), \(scores.map { Int32($0.count) }), \(scores.map { Int32($0.longest) }), \(scores.map(\.start)))
                AS new (id, count, longest, start)
            """
        )
        try await database.execute(
            """
            INSERT INTO streak_member (streak_id, user_id, joined_at)
            SELECT id, person, \(world.clock.now()) FROM unnest(\(ids), \(users)) AS new (id, person)
            """
        )
    }

    /// The order that plain sorting of the table gives.
    func sorted() async throws -> [UserID] {
        try await database.query(
            """
            SELECT members[1] FROM streak WHERE kind = \(StreakKind.checkIn.rawValue) AND status = 1 AND current_count > 0
            ORDER BY current_count DESC, longest_count DESC, run_start, members[1]
            """
        ).map { try $0.decode(as: UserID.self) }
    }

    /// Compares every rank with sorting.
    func expectSorted(_ boards: Boards? = nil) async throws {
        let order = try await sorted()
        let shown = (boards ?? self.boards).read { boards, _ in
            (boards.first(order.count + 10, .checkIn).map(\.user), order.map { boards.standing(of: $0, .checkIn) })
        }
        #expect(shown.0 == order)
        #expect(shown.1 == order.indices.map { BoardStanding(rank: $0 + 1, total: order.count) })
    }

    /// A check-in now; the first one begins the streak.
    func checkIn(_ user: UserID, _ streaks: inout [UserID: StreakID]) async throws {
        if streaks[user] == nil {
            streaks[user] = try await world.work.run(trace: "", requestID: "") { work in
                try await writer.start(.init(.checkIn, of: [user], key: user.description), work)
            }
        }
        guard let id = streaks[user] else { return }
        try await world.work.run(trace: "", requestID: "") { work in
            let stored = try #require(try await writer.store.lock([id], work.sql).first)
            _ = try await writer.apply(.contribute(user, receivedAt: work.now, capturedAt: nil), to: stored, work)
        }
    }

    func settle(_ streaks: some Collection<StreakID> & Sendable) async throws {
        try await world.work.run(trace: "", requestID: "") { work in
            _ = try await writer.settle(try await writer.store.lock(streaks, work.sql), work)
        }
    }

    func board(_ reader: UserID, _ scope: BoardReplies.Scope, limit: Int32 = 0, friends: [UserID] = []) async throws
        -> StreaksAPI.Leaderboard
    {
        try await replies(friends: friends).reply(.checkIn, scope, limit: limit, World.by(reader)).decoded()
    }
}

private func withBoards(_ body: (BoardWorld) async throws -> Void) async throws {
    try await withWorld(at: "2026-01-05T12:00:00Z") { world in try await body(BoardWorld(world)) }
}

/// Leaderboards on a database (CI-7).
struct BoardServiceTests {
    private let monday = CalendarDate(dayNumber: 20_458)

    @Test func `A thousand users, changed again and again: every rank is that of sorting the table`() async throws {
        try await withBoards { world in
            // Few scores: long ties.
            try await world.seed(1_000) { ($0 % 13, max($0 % 13, $0 % 17), monday.advanced(by: -($0 % 3))) }
            try await world.boards.load()
            try await world.expectSorted()
            for round in 1...5 {
                let changed = (1...1_000).filter { ($0 * 7 + round) % 4 == 0 }.map { StreakID(high: 2, low: UInt64($0)) }
                try await world.database.transaction { sql in
                    _ = try await sql.execute(
                        """
                        UPDATE streak SET
                            current_count = CASE WHEN current_count % \(round + 2) = 0 THEN 0 ELSE current_count + 1 END,
                            longest_count = greatest(longest_count, current_count + 1) WHERE id = ANY(\(changed))
                        """
                    )
                    try BoardFeed.append(changed, sql)
                }
                #expect(try await world.boards.follow() == 0)
                try await world.expectSorted()
            }
            // Another replica that starts now has the same boards.
            let other = Boards(database: world.database, clock: world.world.clock)
            try await other.load()
            try await world.expectSorted(other)
        }
    }

    @Test func `Streaks that live: extended, broken, ended and begun again, the boards follow`() async throws {
        try await withBoards { world in
            try await world.boards.load()
            let users = (1...12).map { UserID(high: 1, low: $0) }
            for user in users { try await world.world.person(user.low) }
            var streaks: [UserID: StreakID] = [:]
            for day in 0..<12 {
                for (index, user) in users.enumerated() where (day + index) % (index + 2) != 0 {
                    try await world.checkIn(user, &streaks)
                }
                try await world.settle(Array(streaks.values))
                #expect(try await world.boards.follow() == 0)
                try await world.expectSorted()
                world.world.clock.set(world.world.clock.now() + .days(1))
            }
            let gone = try #require(try await world.sorted().first)
            let streak = try #require(streaks[gone])
            try await world.world.work.run(trace: "", requestID: "") { work in
                let stored = try #require(try await world.writer.store.lock([streak], work.sql).first)
                _ = try await world.writer.apply(.end, to: stored, work)
            }
            _ = try await world.boards.follow()
            try await world.expectSorted()
            #expect(world.boards.read { boards, _ in boards.standing(of: gone, .checkIn).rank } == nil)
            streaks[gone] = nil
            try await world.checkIn(gone, &streaks)
            _ = try await world.boards.follow()
            #expect(world.boards.read { boards, _ in boards.score(of: gone, .checkIn)?.count } == 1)
        }
    }

    @Test func `A change that commits after a later one is not missed, nor one that is in flight at the start`() async throws {
        try await withBoards { world in
            try await world.seed(3) { _ in (1, 1, monday) }
            func raise(_ number: UInt64, _ count: Int, _ sql: Transaction) async throws {
                let id = StreakID(high: 2, low: number)
                _ = try await sql.execute("UPDATE streak SET current_count = \(Int32(count)) WHERE id = \(id)")
                try BoardFeed.append([id], sql)
            }
            func count(_ number: UInt64, _ boards: Boards) -> Int? {
                boards.read { boards, _ in boards.score(of: UserID(high: 1, low: number), .checkIn)?.count }
            }
            let late = Boards(database: world.database, clock: world.world.clock)
            try await world.boards.load()
            try await world.database.transaction { slow in
                try await raise(1, 50, slow)
                try await world.database.transaction { fast in try await raise(2, 40, fast) }
                _ = try await world.boards.follow()
                try await late.load()
                #expect(count(2, world.boards) == 40 && count(2, late) == 40)
                #expect(count(1, world.boards) == 1 && count(1, late) == 1)
            }
            for boards in [world.boards, late] {
                _ = try await boards.follow()
                #expect(count(1, boards) == 50)
            }
            // A transaction that is rolled back leaves a gap that is given up.
            struct Rollback: Error {}
            await #expect(throws: Rollback.self) {
                try await world.database.transaction { sql in
                    try await raise(3, 9, sql)
                    throw Rollback()
                }
            }
            try await world.database.transaction { sql in try await raise(2, 41, sql) }
            _ = try await world.boards.follow()
            _ = try await world.boards.follow()
            #expect(count(3, world.boards) == 1 && count(2, world.boards) == 41)
        }
    }

    @Test func `What is kept of the feed is not even locked by the purge`() async throws {
        try await withBoards { world in
            for number in 1...6 as ClosedRange<UInt64> {
                try await world.database.transaction { sql in try BoardFeed.append([StreakID(high: 2, low: number)], sql) }
            }
            try await world.database.execute(
                "UPDATE board_change SET noted_at = noted_at - interval '1 hour' WHERE position <= (SELECT min(position) + 1 FROM board_change)"
            )
            #expect(try await BoardFeed.purge(world.database) == 2)
            #expect(try await BoardFeed.purge(world.database) == 0)
            // A lock leaves its transaction in the row.
            let rows = try await world.database.query("SELECT xmax = 0 FROM board_change").map { try $0.decode(as: Bool.self) }
            #expect(rows == [true, true, true, true])
        }
    }

    @Test func `The feed is purged beside another that purges: neither waits for rows of the other`() async throws {
        try await withBoards { world in
            for number in 1...3 as ClosedRange<UInt64> {
                try await world.database.transaction { sql in try BoardFeed.append([StreakID(high: 2, low: number)], sql) }
            }
            try await world.database.execute("UPDATE board_change SET noted_at = noted_at - interval '1 hour'")
            try await world.database.transaction { other in
                let held = try await other.query("SELECT position FROM board_change ORDER BY position DESC LIMIT 1 FOR UPDATE")
                #expect(held.count == 1)
                #expect(try await BoardFeed.purge(world.database) == 2)
            }
            #expect(try await BoardFeed.purge(world.database) == 1)
        }
    }

    @Test func `The global board: own entry marked, blocked and suspended users leave gaps, the rank goes on beyond the list`()
        async throws
    {
        try await withBoards { world in
            for number in 1...120 as ClosedRange<UInt64> { try await world.world.person(number) }
            try await world.seed(120) { (200 - $0, 200, monday) }
            func user(_ number: UInt64) -> UserID { UserID(high: 1, low: number) }
            try await world.boards.load()
            try await world.world.consume(
                UserBlocked(
                    blockID: BlockID(high: 7, low: 7),
                    block: BlockState(
                        blockID: BlockID(high: 7, low: 7),
                        version: 1,
                        blockerID: user(2),
                        blockedID: user(4),
                        active: true
                    )
                )
            )
            try await world.world.consume(
                ProfileChanged(
                    userID: user(6),
                    profile: ProfileState(
                        userID: user(6),
                        version: 2,
                        username: "person6",
                        displayName: "Person 6",
                        timeZone: "UTC",
                        status: .suspended,
                        timeZoneSince: world.world.clock.now()
                    )
                ),
                // The board is read before the streak has broken.
                by: [world.world.service.core.profiles.handler()]
            )
            let board = try await world.board(user(4), .global, limit: 10)
            #expect(board.leaderboard.map(\.rank) == [1, 3, 4, 5, 7, 8, 9, 10])
            #expect(board.leaderboard.filter(\.isCurrentUser).map(\.userID) == [user(4)])
            let first = try #require(board.leaderboard.first)
            #expect(first.username == "person1" && first.currentStreak == 199)
            #expect(first.badge == "Diamond Tier" && first.flameColor == "rainbow")
            #expect(board.userRank == 4 && board.totalUsers == 120 && board.percentile == 96.7)
            #expect(board.averageStreak == nil && board.asOf == world.world.clock.now())
            let far = try await world.board(user(115), .global)
            #expect(far.leaderboard.count == 49 && far.userRank == 115 && far.percentile == 4.2)
            #expect(try await world.board(user(2), .global, limit: 500).leaderboard.map(\.rank).last == 100)
            let stranger = try await world.board(UserID(high: 9, low: 9), .global, limit: 3)
            #expect(stranger.userRank == nil && stranger.percentile == nil && stranger.totalUsers == 120)
        }
    }

    @Test func `Friends and circles have boards of their own, with the circle's average`() async throws {
        try await withBoards { world in
            for number in 1...7 as ClosedRange<UInt64> { try await world.world.person(number) }
            try await world.seed(6) { (10 * $0, 60, monday) }
            func user(_ number: UInt64) -> UserID { UserID(high: 1, low: number) }
            try await world.boards.load()
            let board = try await world.board(user(2), .friends, friends: [user(1), user(5), user(7)])
            #expect(board.leaderboard.map(\.userID) == [user(5), user(2), user(1)])
            #expect(board.leaderboard.map(\.rank) == [1, 2, 3] && board.userRank == 2 && board.totalUsers == 3)
            let alone = try await world.board(user(7), .friends)
            #expect(alone.leaderboard.isEmpty && alone.userRank == nil && alone.totalUsers == 0)
            let circle = CircleID(high: 5, low: 5)
            let members = [user(1), user(2), user(7)].map {
                CircleStateMember(userID: $0, role: .member, joinedAt: world.world.clock.now())
            }
            let state = CircleState(circleID: circle, version: 1, name: "Runners", members: members)
            try await world.world.consume(
                CircleChanged(circleID: circle, circle: state),
                by: [world.core.circles.handler]
            )
            let group = try await world.board(user(7), .circle(circle))
            #expect(group.leaderboard.map(\.userID) == [user(2), user(1)] && group.averageStreak == 10)
            #expect(group.userRank == nil && group.totalUsers == 2)
            let error = await #expect(throws: ServiceError.self) { try await world.board(user(5), .circle(circle)) }
            #expect(error?.code == .notFound)
            #expect(throws: ServiceError.self) { try BoardReplies.Scope("circle", circle: nil) }
        }
    }

    @Test func `A look at a leaderboard is emitted once a user and week`() async throws {
        try await withBoards { world in
            let views = ViewCounter(clock: world.world.clock)
            for _ in 0..<3 {
                views.note(UserID(high: 1, low: 1))
                _ = try await views.write(world.world.work)
            }
            // Another replica, that does not know of it.
            let other = ViewCounter(clock: world.world.clock)
            other.note(UserID(high: 1, low: 1))
            other.note(UserID(high: 1, low: 2))
            #expect(try await other.write(world.world.work) == 2)
            #expect(try await world.world.events(LeaderboardViewed.self).map(\.userID.low).sorted() == [1, 2])
            world.world.clock.set(world.world.clock.now() + .days(7))
            views.note(UserID(high: 1, low: 1))
            #expect(try await views.write(world.world.work) == 1)
            #expect(try await world.world.events(LeaderboardViewed.self).count == 3)
        }
    }
}
