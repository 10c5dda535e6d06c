import Database
import Kernel
import SocialAPI
import TestSupport
import Testing

@Suite("The friend list", .timeLimit(.minutes(4)))
struct FriendListTests {
    /// A further replica of `social`, which keeps so many pages.
    private func replica(_ world: World, keeping pages: Int) -> Service {
        Service(
            database: world.database,
            bus: world.others,
            mutations: world.service.mutations,
            keptFriendPages: pages
        )
    }

    /// All pages, by pages of `limit`.
    private func list(_ service: Service, _ user: UserID, limit: Int32 = 0) async throws -> [Friend] {
        var friends: [Friend] = []
        var cursor: String?
        repeat {
            let reply = try await service.listFriends(
                ListFriendsRequest(limit: limit, cursor: cursor ?? ""),
                context: World.by(user)
            )
            friends += reply.friends
            cursor = reply.meta?.nextCursor
        } while cursor != nil
        return friends
    }

    private func names(_ service: Service, _ user: UserID) async throws -> [String] {
        try await list(service, user).compactMap { $0.user?.displayName }
    }

    private func rename(_ user: UserID, _ name: String, _ sql: some QueryExecutor) async throws {
        _ = try await sql.execute("UPDATE profile_replica SET display_name = \(name) WHERE user_id = \(user)")
    }

    /// What cannot be done to the tables with triggers: a change that leaves the version as it is.
    private func renameUnseen(_ user: UserID, _ name: String, _ world: World) async throws {
        try await world.database.transaction { sql in
            try await sql.execute("ALTER TABLE profile_replica DISABLE TRIGGER USER")
            try await rename(user, name, sql)
            try await sql.execute("ALTER TABLE profile_replica ENABLE TRIGGER USER")
        }
    }

    @Test(arguments: 1...6) func `is on every replica, after any history of changes, what a replica shows that keeps none`(
        seed: Int
    ) async throws {
        try await withWorld { world in
            var random = Seeded(UInt64(seed))
            let fresh = replica(world, keeping: 0)
            let replicas = [world.service, replica(world, keeping: 3)]
            let people = (1...7).map { world.person($0) }
            for step in 0..<120 {
                let (one, two) = (people[Int.random(in: 0..<7, using: &random)], people[Int.random(in: 0..<7, using: &random)])
                let database = world.database
                switch Int.random(in: 0..<9, using: &random) {
                case 0...3 where one != two:
                    try await database.transaction { sql in
                        let now = Instant(seconds: 1_700_000_000 + Int64(step))
                        let id = FriendshipID(high: UInt64(seed), low: UInt64(step))
                        let pair = try await world.service.friendships.lock(one, two, newID: id, now: now, sql)
                        let state = Int.random(in: 0...5, using: &random)
                        try await sql.execute(
                            "UPDATE friendship SET state = \(Int32(state)), since = \(now) WHERE id = \(pair.id)"
                        )
                    }
                case 4: try await rename(one, "name \(step)", database)
                case 5:
                    let status = Int32.random(in: 1...3, using: &random)
                    _ = try await database.execute("UPDATE profile_replica SET status = \(status) WHERE user_id = \(one)")
                case 6:
                    let key = "a\(step)"
                    _ = try await database.execute("UPDATE profile_replica SET avatar_key = \(key) WHERE user_id = \(one)")
                case 7: _ = try await database.execute("DELETE FROM profile_replica WHERE user_id = \(one)")
                case 8: _ = try await database.execute("DELETE FROM friendship WHERE user_low = \(one) AND user_high > \(two)")
                default: break
                }
                // The first reader fills in a missing profile; each of them must be able to.
                let viewer = people[Int.random(in: 0..<7, using: &random)]
                let services = (replicas + [fresh]).shuffled(using: &random)
                for limit: Int32 in [0, 2] {
                    var seen: [[Friend]] = []
                    for service in services { seen.append(try await list(service, viewer, limit: limit)) }
                    #expect(seen[0] == seen[1] && seen[1] == seen[2], "step \(step)")
                }
            }
        }
    }

    @Test func `is read once while nothing in it changes, and again after whatever it shows has`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1, name: "Ann"), world.person(2, name: "Ben"))
            try await world.befriend(ann, ben)
            #expect(try await names(world.service, ann) == ["Ben"])
            try await renameUnseen(ben, "Unseen", world)
            #expect(try await names(world.service, ann) == ["Ben"])
            #expect(try await names(replica(world, keeping: 0), ann) == ["Unseen"])
            _ = try await world.database.execute("UPDATE profile_replica SET time_zone = 'Asia/Tokyo', version = version + 1")
            #expect(try await names(world.service, ann) == ["Ben"], "a zone is not in the list")
            _ = try await world.database.execute("UPDATE profile_replica SET username = 'benny' WHERE user_id = \(ben)")
            #expect(try await names(world.service, ann) == ["Unseen"])
        }
    }

    @Test func `shows streaks as they are now, however long it has been kept`() async throws {
        try await withWorld { world in
            let (ann, ben, eve) = (world.person(1), world.person(2), world.person(3))
            try await world.befriend(ann, ben)
            try await world.befriend(ann, eve)
            // By pages of one, since the others here answer for named friends only.
            for posted in [false, true, nil, false] {
                world.others.state.withLock { $0.friendHasPosted = posted }
                #expect(try await list(world.service, ann, limit: 1).map { $0.streak?.friendPostedToday } == [posted, posted])
            }
        }
    }

    @Test(arguments: [ServiceError.unavailable(), ServiceError(.deadlineExceeded, "DEADLINE_EXCEEDED", "too late")])
    func `comes without streaks and says so while streaks is away, and with them as soon as it is back`(failure: ServiceError)
        async throws
    {
        try await withWorld { world in
            let (ann, ben, eve) = (world.person(1), world.person(2), world.person(3))
            try await world.befriend(ann, ben)
            try await world.befriend(ann, eve)
            func first() async throws -> ListFriendsReply {
                try await world.service.listFriends(ListFriendsRequest(limit: 1), context: World.by(ann))
            }
            for away in [true, false, true, false] {
                world.others.state.withLock { $0.streaksFailure = away ? failure : nil }
                let reply = try await first()
                #expect(reply.friends.count == 1 && reply.meta?.nextCursor != nil, "friends and places in the list are known")
                #expect((reply.friends[0].streak == nil) == away)
                #expect(reply.streaksReason == (away ? "STREAKS_UNAVAILABLE" : nil))
            }
        }
    }

    @Test func `waits for streaks half of the time that is left, and never more than 2 s`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            try await world.befriend(ann, ben)
            for seconds in [Int64(60), 2] {
                var context = World.by(ann)
                context.deadline = SystemClock.now() + .seconds(seconds)
                world.others.state.withLock { $0.deadlines = [] }
                _ = try await world.service.listFriends(ListFriendsRequest(), context: context)
                let deadline = try #require(world.others.state.withLock { $0.deadlines.first })
                #expect(deadline <= SystemClock.now() + .seconds(2))
                #expect(deadline < context.deadline, "there is time left to answer without them")
            }
        }
    }

    @Test func `is refused when streaks refuses the question itself`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2))
            try await world.befriend(ann, ben)
            world.others.state.withLock { $0.streaksFailure = .internal }
            await #expect(throws: ServiceError.internal) {
                try await world.service.listFriends(ListFriendsRequest(), context: World.by(ann))
            }
        }
    }

    @Test(arguments: [0, 1, 4]) func `is dropped when others were asked for more recently, and keeps none when set so`(
        capacity: Int
    ) async throws {
        try await withWorld { world in
            let service = replica(world, keeping: capacity)
            let people = (1...7).map { world.person($0, name: "before") }
            for (one, two) in zip(people, people.dropFirst()) { try await world.befriend(one, two) }
            for person in people { _ = try await list(service, person) }
            for person in people { try await renameUnseen(person, "after", world) }
            var kept = 0
            for person in people.reversed() {
                let shown = Set(try await names(service, person))
                #expect(shown.count == 1)
                kept += shown == ["before"] ? 1 : 0
            }
            #expect(kept <= capacity + 1)
            #expect(kept >= capacity / 2)
            #expect((kept == 0) == (capacity == 0))
        }
    }

    @Test func `shows the new name of a friend who changed it while the friendship began`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1, name: "before"), world.person(2))
            let database = world.database
            _ = try await world.befriend(ann, ben)
            let (low, high) = (min(ann, ben), max(ann, ben))
            try await database.execute("UPDATE friendship SET state = 5 WHERE user_low = \(low) AND user_high = \(high)")
            let accepting = try await database.transaction { sql in
                try await rename(ann, "after", sql)
                // The friendship begins before the name's change is committed, or waits for it.
                let accepting = Task {
                    try await database.execute("UPDATE friendship SET state = 2 WHERE user_low = \(low) AND user_high = \(high)")
                }
                while try await database.query("SELECT 1 FROM friendship WHERE state = 2").isEmpty,
                    try await database.query(
                        """
                        SELECT 1 FROM pg_stat_activity
                        WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE friendship SET state = 2%'
                        """
                    ).isEmpty
                {}
                _ = try await list(world.service, ben)
                return accepting
            }
            _ = try await accepting.value
            #expect(try await names(world.service, ben) == ["after"])
        }
    }

    @Test
    func `of people who change their names and friendships at once ends as it is, without a deadlock`()
        async throws
    {
        try await withWorld { world in
            let people = (1...8).map { world.person($0) }
            for one in people { for two in people where one < two { try await world.befriend(one, two) } }
            for person in people { _ = try await list(world.service, person) }
            let outcomes = try await atOnce(64) { index in
                let (one, two) = (people[index % 8], people[index / 8])
                try await rename(one, "name \(index)", world.database)
                let state = Int32(index % 2 == 0 ? 2 : 5)
                _ = try await world.database.execute(
                    "UPDATE friendship SET state = \(state) WHERE user_low = \(min(one, two)) AND user_high = \(max(one, two))"
                )
                _ = try await list(world.service, two)
            }
            #expect(outcomes == ["OK": 64])
            for person in people {
                #expect(try await list(world.service, person) == list(replica(world, keeping: 0), person))
            }
        }
    }
}
