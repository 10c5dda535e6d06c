import AuthAPI
import BillingAPI
import Bus
import Database
import Kernel
import Replicas
import SocialAPI
import StreaksAPI
import TestSupport
import Testing
import Wire

@testable import Runtime
@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// `social`, of which only one answer is wanted: who is whose friend.
private struct Friendships: Caller {
    let present: FriendshipID

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context _: CallContext)
        async throws
        -> Reply
    {
        guard request is FindFriendshipRequest,
            let reply = FindFriendshipReply(friendshipID: present) as? Reply
        else { throw ServiceError.unavailable() }
        return reply
    }
}

/// Two who end their friendship and are friends again before the event of the end arrives (SO-2, SO-4, MS-1).
@Suite(.timeLimit(.minutes(10))) struct FriendsAgainTests {
    /// The n-th friendship of two users.
    private func friendship(_ number: UInt64, pair: UInt64 = 0) -> FriendshipID {
        FriendshipID(high: 0x0190_0000_0000_7000 + number, low: pair)
    }

    private func start(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ world: World) async throws
        -> StartForFriendshipReply
    {
        let request = StartForFriendshipRequest(friendshipID: friendship, userAID: one, userBID: two)
        return try await world.service.startForFriendship(request, context: World.by(one))
    }

    private func accepted(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ world: World) -> FriendshipAccepted {
        FriendshipAccepted(
            friendshipID: friendship,
            requesterID: two,
            accepterID: one,
            acceptedAt: world.clock.now()
        )
    }

    private func ended(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ world: World) -> FriendshipEnded {
        FriendshipEnded(
            friendshipID: friendship,
            userAID: min(one, two),
            userBID: max(one, two),
            endedAt: world.clock.now()
        )
    }

    /// A streak's row.
    private struct Seen: Equatable {
        var friendship: FriendshipID
        /// 1 running, 2 broken, 3 ended.
        var status: Int32
        var count: Int32
        var breaker: UserID?
    }

    /// Streaks of a pair, by their ids.
    private func streaks(_ one: UserID, _ two: UserID, _ world: World) async throws -> [StreakID: Seen] {
        let rows = try await world.database.query(
            """
            SELECT id, friendship_id, status, current_count, broken_by FROM streak JOIN mutual_streak ON id = streak_id
            WHERE members = \([min(one, two), max(one, two)])
            """
        )
        return try rows.reduce(into: [:]) { streaks, row in
            let (id, friendship, status, count, breaker) = try row.decode(
                as: (StreakID.self, FriendshipID.self, Int32.self, Int32.self, UserID?.self)
            )
            streaks[id] = Seen(friendship: friendship, status: status, count: count, breaker: breaker)
        }
    }

    @Test func `the new streak starts at 0 and the old one ends, although the event of the end is still on its way`() async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let old = try #require(try await start(friendship(1), ann, ben, world).streakID)
            for person in [ann, ben] { try await world.post(person, to: [old]) }
            let again = try await start(friendship(2), ben, ann, world)
            let new = try #require(again.streakID, "\(again)")
            #expect(
                try await streaks(ann, ben, world) == [
                    old: Seen(friendship: friendship(1), status: 3, count: 1, breaker: nil),
                    new: Seen(friendship: friendship(2), status: 1, count: 0, breaker: nil),
                ]
            )
            let state = try await streaks(ann, ben, world)
            // The event, the other way to start, and both once more.
            for _ in 0..<2 {
                try await world.consume(ended(friendship(1), ann, ben, world))
                try await world.consume(accepted(friendship(2), ann, ben, world))
                #expect(try await start(friendship(2), ann, ben, world) == again)
                #expect(try await start(friendship(1), ann, ben, world).streakID == old, "the first answer stays the same")
            }
            #expect(try await streaks(ann, ben, world) == state)
            #expect(try await world.events(StreakEnded.self).map(\.streakID) == [old])
            #expect(try await world.events(StreakStarted.self).map(\.streakID) == [old, new])
            #expect(try await world.events(StreakBroken.self).isEmpty)
            let totals = try await world.events(UserStreakStatsChanged.self).filter { $0.userID == ann }
            #expect(totals.last?.activeStreaks == 1 && totals.last?.longestStreak == 1)
        }
    }

    @Test func `a broken streak of the old friendship ends too: no token, snap or outage brings it back beside the new one`()
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let old = try #require(try await start(friendship(1), ann, ben, world).streakID)
            for person in [ann, ben] { try await world.post(person, to: [old]) }
            world.clock.advance(by: .hours(42))
            try await world.settle()
            #expect(try await streaks(ann, ben, world)[old]?.status == 2)
            let new = try #require(try await start(friendship(2), ann, ben, world).streakID)
            for _ in 0..<2 {
                #expect(try await streaks(ann, ben, world).mapValues(\.status) == [old: 3, new: 1])
                #expect(try await world.events(StreakEnded.self).map(\.streakID) == [old])
                try await world.consume(ended(friendship(1), ann, ben, world))
            }
        }
    }

    @Test func `the old streak does not count for the limit, and when another one does the totals are emitted`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let ann = try await world.person(1)
            var friends: [UserID] = []
            for number in 2...5 { friends.append(try await world.person(UInt64(number))) }
            for (number, friend) in friends.prefix(3).enumerated() {
                #expect(try await start(friendship(1, pair: UInt64(number)), ann, friend, world).streakID != nil)
            }
            let again = try await start(friendship(2, pair: 0), ann, friends[0], world)
            #expect(again.streakID != nil, "\(again)")

            // The friend has three others meanwhile.
            let busy = friends[1]
            try await world.premium(busy)
            for number in 10..<13 {
                let other = try await world.person(UInt64(number))
                #expect(try await start(friendship(1, pair: UInt64(number)), busy, other, world).streakID != nil)
            }
            try await world.premium(busy, false, version: 2)
            let refused = try await start(friendship(2, pair: 1), ann, busy, world)
            #expect(refused.reason == "STREAK_LIMIT_REACHED")
            #expect(try await streaks(ann, busy, world).values.map(\.status) == [3])
            let events = try await world.events(UserStreakStatsChanged.self)
            let running = Dictionary(events.map { ($0.userID, $0.activeStreaks) }) { $1 }
            #expect(running[ann] == 2 && running[busy] == 3)
            try await world.consume(ended(friendship(1, pair: 1), ann, busy, world))
            #expect(try await start(friendship(2, pair: 1), ann, busy, world) == refused)
        }
    }

    @Test func `who starts a streak by hand meets no streak of the old friendship`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let old = try #require(try await start(friendship(1), ann, ben, world).streakID)
            func startAnew(_ present: FriendshipID) async throws -> StartStreakReply {
                let service = AllStreaks(
                    database: world.database,
                    bus: Friendships(present: present),
                    mutations: world.mutations,
                    clock: world.clock,
                    logger: testLogger
                )
                return try await service.startStreak(StartStreakRequest(friendID: ben), context: World.by(ann))
            }
            let same = await #expect(throws: ServiceError.self) { _ = try await startAnew(friendship(1)) }
            #expect(same?.reason == "STREAK_ALREADY_ACTIVE")
            let new = try #require(try await startAnew(friendship(2)).streak?.id)
            #expect(try await streaks(ann, ben, world).mapValues(\.status) == [old: 3, new: 1])
            #expect(try await start(friendship(2), ann, ben, world).streakID == new)
            let late = await #expect(throws: ServiceError.self) { _ = try await startAnew(friendship(1)) }
            #expect(late?.reason == "NOT_FRIENDS", "social was asked before the friendship ended")
        }
    }

    /// What may reach `streaks` of a friendship, once or again, in any order.
    private enum Step {
        case request(FriendshipID)
        case acceptance(FriendshipID)
        case end(FriendshipID)
    }

    /// Two or three friendships of a pair, of which the last may last.
    private struct History {
        let pair: (one: UserID, two: UserID)
        let lasting: FriendshipID?
        var steps: [Step] = []
    }

    private func history(_ number: UInt64, _ world: World, _ random: inout Seeded) async throws -> History {
        let pair = (try await world.person(1_000 + 2 * number), try await world.person(1_001 + 2 * number))
        let count = UInt64.random(in: 2...3, using: &random)
        let lasts = random.chance(70)
        var history = History(pair: pair, lasting: lasts ? friendship(count, pair: number) : nil)
        for generation in 1...count {
            let id = friendship(generation, pair: number)
            var steps = [Step.request(id), .acceptance(id)]
            if id != history.lasting { steps.append(.end(id)) }
            for step in steps { history.steps += Array(repeating: step, count: random.chance(30) ? 2 : 1) }
        }
        history.steps.shuffle(using: &random)
        return history
    }

    private func play(_ step: Step, of history: History, _ world: World) async throws -> (FriendshipID, String)? {
        let (one, two) = history.pair
        switch step {
        case .request(let id):
            let reply = try await start(id, one, two, world)
            return (id, reply.streakID?.description ?? reply.reason ?? "")
        case .acceptance(let id): try await world.consume(accepted(id, one, two, world))
        case .end(let id): try await world.consume(ended(id, one, two, world))
        }
        return nil
    }

    /// What must hold when everything has arrived, whatever came first.
    private func check(_ history: History, _ seed: UInt64, _ world: World) async throws {
        let all = try await streaks(history.pair.one, history.pair.two, world)
        let running = all.filter { $0.value.status == 1 }
        #expect(running.map(\.value.friendship) == history.lasting.map { [$0] } ?? [], "\(seed): \(history.steps)")
        #expect(all.values.allSatisfy { $0.breaker == nil && $0.count == 0 && [1, 3].contains($0.status) }, "\(seed)")
        #expect(Set(all.values.map(\.friendship)).count == all.count, "\(seed): each friendship has one streak at most")
        let mine = Set(all.keys)
        let started = try await world.events(StreakStarted.self).map(\.streakID).filter(mine.contains)
        let ended = try await world.events(StreakEnded.self).map(\.streakID).filter(mine.contains)
        #expect(started.sorted() == mine.sorted(), "\(seed)")
        #expect(ended.sorted() == mine.subtracting(running.keys).sorted(), "\(seed): each end is emitted once")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>) func `whatever comes first, the outcome is the same and each answer stays`(
        seed: UInt64
    )
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            var random = Seeded(seed)
            for number in 0..<12 as Range<UInt64> {
                let history = try await history(number, world, &random)
                var answers: [FriendshipID: Set<String>] = [:]
                for step in history.steps {
                    if let (friendship, answer) = try await play(step, of: history, world) {
                        answers[friendship, default: []].insert(answer)
                    }
                }
                #expect(answers.values.allSatisfy { $0.count == 1 }, "\(seed): \(answers)")
                try await check(history, seed, world)
            }
        }
    }

    @Test(arguments: 5...7 as ClosedRange<UInt64>) func `all at once comes to the same`(seed: UInt64) async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            var random = Seeded(seed)
            for number in 0..<8 as Range<UInt64> {
                let history = try await history(number, world, &random)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for step in history.steps { tasks.addTask { _ = try await play(step, of: history, world) } }
                    try await tasks.waitForAll()
                }
                try await check(history, seed, world)
            }
        }
    }
}
