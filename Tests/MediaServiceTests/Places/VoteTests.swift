import Database
import Kernel
import MediaAPI
import MediaDomain
import TestSupport
import Testing

@testable import MediaPlaces
@testable import ServiceRuntime

/// Votes and their counts (PL-3).
@Suite(.timeLimit(.minutes(3))) struct VoteTests {
    private func votes(_ world: PlaceWorld, _ post: PostID, for reader: UInt64? = 99) async throws -> [Int64] {
        let post = try #require(try await world.find(post, for: reader))
        #expect(post.voteCount == post.up - post.down)
        return [post.up, post.down]
    }

    @Test func `a vote is cast, changed and taken back, one a person`() async throws {
        try await PlaceWorld.with { world in
            let post = try await world.pin(1, at: 1, 1)
            for isCounted in [false, true] {
                func step(_ vote: Vote?, _ expected: [Int64]) async throws {
                    let reply = try await world.vote(vote, on: post, by: 2)
                    #expect([reply.up, reply.down] == expected && reply.voteCount == expected[0] - expected[1])
                    #expect(reply.myVote == vote?.rawValue)
                    if isCounted { try await world.countVotes() }
                    #expect(try await votes(world, post) == expected)
                    #expect(try await world.find(post, for: 2)?.myVote == vote?.rawValue)
                    #expect(try await world.find(post, for: 3)?.myVote == nil)
                }
                try await step(.up, [1, 0])
                try await step(.up, [1, 0])
                try await step(.down, [0, 1])
                try await step(nil, [0, 0])
                try await step(nil, [0, 0])
            }
        }
    }

    @Test func `a vote beyond the quota is refused, the repeat of an earlier one is not, and one that is taken back makes room`()
        async throws
    {
        try await PlaceWorld.with(quotas: Quotas(["place_vote": 2])) { world in
            var posts: [PostID] = []
            for number in UInt64(1)...3 { posts.append(try await world.pin(number, at: 1, Double(number))) }
            let first = try await world.vote(.up, on: posts[0], by: 2, key: "a")
            try await world.vote(.up, on: posts[1], by: 2)
            let error = await #expect(throws: ServiceError.self) { try await world.vote(.up, on: posts[2], by: 2) }
            #expect(error?.reason == "QUOTA_EXCEEDED" && error?.message.contains("2 votes") == true)
            #expect(try await votes(world, posts[2]) == [0, 0])
            #expect(try await world.vote(.up, on: posts[0], by: 2, key: "a") == first)
            try await world.vote(.up, on: posts[2], by: 3)
            // Another word on the same post adds nothing.
            try await world.vote(.down, on: posts[1], by: 2)
            #expect(try await votes(world, posts[1]) == [0, 1])
            let own = try await world.pin(4, by: 2, at: 1, 4)
            for (post, reason) in [(own, "OWN_POST"), (PlaceWorld.post(99), "NOT_FOUND")] {
                let refusal = await #expect(throws: ServiceError.self) { try await world.vote(.up, on: post, by: 2) }
                #expect(refusal?.reason == reason)
            }
            try await world.vote(nil, on: posts[0], by: 2)
            try await world.vote(.down, on: posts[2], by: 2)
            #expect(try await world.vote(.up, on: posts[0], by: 2, key: "a") == first)
            #expect(try await votes(world, posts[2]) == [1, 1])
        }
    }

    @Test func `a repeat with the same key gets the first answer and changes nothing`() async throws {
        try await PlaceWorld.with { world in
            let post = try await world.pin(1, at: 1, 1)
            let first = try await world.vote(.up, on: post, by: 2, key: "a")
            try await world.vote(.down, on: post, by: 2)
            #expect(try await world.vote(.up, on: post, by: 2, key: "a") == first)
            #expect(try await votes(world, post) == [0, 1])
        }
    }

    @Test func `votes of an account that is withheld count no more, and count again when it is back`() async throws {
        try await PlaceWorld.with { world in
            let post = try await world.pin(1, at: 1, 1)
            try await world.vote(.up, on: post, by: 2)
            try await world.vote(.down, on: post, by: 3)
            for isCounted in [false, true] {
                if isCounted { try await world.countVotes() }
                #expect(try await votes(world, post) == [1, 1])
                try await world.withhold(2)
                try await world.withhold(2)
                #expect(try await votes(world, post) == [0, 1], "at once")
                if isCounted { try await world.countVotes() }
                #expect(try await votes(world, post) == [0, 1])
                // What a token that still works changes, and a new vote, count when the account is back.
                try await world.vote(.down, on: post, by: 2)
                try await world.vote(nil, on: post, by: 2)
                try await world.vote(.up, on: post, by: 2)
                #expect(try await votes(world, post) == [0, 1])
                try await world.release(2)
                #expect(try await votes(world, post) == [1, 1])
            }
            try await world.withhold(2)
            _ = try await world.database.execute("DELETE FROM place_vote WHERE user_id = \(PlaceWorld.user(2))")
            try await world.countVotes()
            #expect(try await votes(world, post) == [0, 1], "the purge subtracts nothing twice")
        }
    }

    @Test func `no vote on one's own post, or on one that cannot be seen`() async throws {
        try await PlaceWorld.with { world in
            let post = try await world.pin(1, at: 1, 1)
            let own = await #expect(throws: ServiceError.self) { try await world.vote(.up, on: post, by: 1) }
            #expect(own?.reason == "OWN_POST")
            try await world.vote(.up, on: post, by: 3)
            try await world.block(2, 1)
            try await world.block(1, 3)
            for voter in UInt64(2)...3 {
                for vote in [Vote.up, .down, nil] {
                    let error = await #expect(throws: ServiceError.self) { try await world.vote(vote, on: post, by: voter) }
                    #expect(error?.code == .notFound)
                }
            }
            let missing = await #expect(throws: ServiceError.self) { try await world.vote(.up, on: PlaceWorld.post(8), by: 4) }
            #expect(missing?.code == .notFound)
            try await world.database.execute("UPDATE place_post SET is_hidden = true")
            let hidden = await #expect(throws: ServiceError.self) { try await world.vote(.up, on: post, by: 4) }
            #expect(hidden?.code == .notFound)
            #expect(try await votes(world, post, for: 1) == [1, 0])
        }
    }

    @Test func `voters at the same time each get their own answer, and the votes of those that are refused do not count`()
        async throws
    {
        try await PlaceWorld.with { world in
            // User 1 has two of the posts, user 2 one.
            var posts: [PostID] = []
            for (number, author) in [UInt64(1), 1, 2].enumerated() {
                posts.append(try await world.pin(UInt64(number + 1), by: author, at: 1, Double(number)))
            }
            for round in 0..<3 {
                let casts = await simultaneously(48) { [posts] place in
                    let number = place + 1
                    let vote: Vote? = round == 2 && number % 4 == 0 ? nil : (number + round) % 3 == 0 ? .down : .up
                    return try await world.vote(vote, on: posts[number % 3], by: UInt64(number), key: "round \(round)")
                }
                for (place, cast) in casts.enumerated() {
                    let number = place + 1
                    switch cast {
                    // User 1 votes on their second post, user 2 on theirs.
                    case .failure(let error): #expect(number <= 2 && (error as? ServiceError)?.reason == "OWN_POST")
                    case .success(let reply):
                        let isTakenBack = round == 2 && number % 4 == 0
                        let expected = isTakenBack ? nil : (number + round) % 3 == 0 ? "down" : "up"
                        #expect(reply.postID == posts[number % 3] && reply.myVote == expected)
                    }
                }
                #expect(casts.count { if case .failure = $0 { true } else { false } } == 2)
                if round == 1 { try await world.countVotes() }
                for (index, post) in posts.enumerated() {
                    let voters = (3...48).filter { $0 % 3 == index && !(round == 2 && $0 % 4 == 0) }
                    let down = voters.count { ($0 + round) % 3 == 0 }
                    #expect(try await votes(world, post) == [Int64(voters.count - down), Int64(down)])
                }
            }
        }
    }

    /// A vote of a user that is not committed. - Returns: what its transaction sees.
    private func votes(of voter: UInt64, on post: PostID, _ world: PlaceWorld, _ sql: Transaction) async throws -> VoteCounts {
        let user = PlaceWorld.user(voter)
        let queued = try VoteRepository.enqueue(.up, on: post, by: user, if: .withoutKey(at: world.clock.now()), sql)
        return try #require(try await VoteRepository.votes(queued)).1
    }

    @Test func `a voter waits for no other voter on the same post, nor for the job that counts`() async throws {
        try await PlaceWorld.with { world in
            let post = try await world.pin(1, at: 1, 1)
            try await world.vote(.up, on: post, by: 50)
            try await world.database.transaction { sql in
                // A voter and a counting job that do not end.
                let open = try await votes(of: 2, on: post, world, sql)
                #expect(open.up == 2)
                _ = try await sql.query("SELECT up FROM place_post WHERE id = \(post) FOR NO KEY UPDATE")
                for voter in UInt64(3)...10 { try await world.vote(.down, on: post, by: voter) }
                #expect(try await votes(world, post) == [1, 8], "what is not committed is not counted")
            }
            #expect(try await votes(world, post) == [2, 8])
        }
    }

    @Test func `a voter does not wait while the job changes posts`() async throws {
        try await PlaceWorld.with(poolSize: 4) { world in
            let post = try await world.pin(1, at: 1, 1)
            @Sendable func all(_ vote: Vote) async throws {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for voter in UInt64(2)...33 { group.addTask { try await world.vote(vote, on: post, by: voter) } }
                    try await group.waitForAll()
                }
            }
            // Each connection has a row of votes.
            try await all(.up)
            let counting = try await world.database.transaction { sql in
                _ = try await sql.query("SELECT up FROM place_post WHERE id = \(post) FOR NO KEY UPDATE")
                let counting = Task { try await world.countVotes() }
                try await eventually("the job waits for the post") {
                    try await world.count("pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 1
                }
                #expect(try await votes(world, post) == [32, 0])
                try await all(.down)
                #expect(try await votes(world, post) == [0, 32])
                return counting
            }
            try await counting.value
            try await world.countVotes()
            #expect(try await votes(world, post) == [0, 32])
            #expect(try await world.count("place_vote_tally") == 0)
        }
    }

    /// What the job that deletes a post does while a vote on it is not committed yet.
    private func deleteRows(_ world: PlaceWorld, of post: PostID, byPurge: Bool) async throws {
        guard byPurge else { return try await world.posts.delete([post], of: PlaceWorld.user(1), now: world.clock.now()) }
        try await world.mutations.work.run(PlaceWorld.context(nil)) { work in
            let eraser = PersonalDataEraser(PersonalData.places.tables, [PersonalData.placeSteps])
            try await eraser.erase(PlaceWorld.user(1), work)
        }
    }

    @Test(arguments: [false, true]) func `a vote that is committed while its post is being deleted leaves nothing`(byPurge: Bool)
        async throws
    {
        try await PlaceWorld.with { world in
            let post = try await world.pin(1, by: 1, at: 1, 1)
            let deletion = try await world.database.transaction { sql in
                #expect(try await votes(of: 2, on: post, world, sql).own == .up)
                if !byPurge { try await world.remove(post) }
                let deletion = Task { try await deleteRows(world, of: post, byPurge: byPurge) }
                // It reaches the rows of the post, and waits there.
                try await eventually("the deletion waits for the vote") { try await isWaitingForVoters(world) }
                return deletion
            }
            try await deletion.value
            #expect(try await world.count("place_vote") == 0)
            #expect(try await world.count("place_post") == 0)
            let late = await #expect(throws: ServiceError.self) { try await world.vote(.up, on: post, by: 3) }
            #expect(late?.code == .notFound)
            try await world.countVotes()
            #expect(try await world.count("place_vote_tally") == 0)
        }
    }

    private func isWaitingForVoters(_ world: PlaceWorld) async throws -> Bool {
        let here: Query = "(SELECT oid FROM pg_database WHERE datname = current_database())"
        return try await world.count("pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = \(here)") == 1
    }

    @Test(arguments: [[UInt64(1), 2], [2, 1]])
    func `voters on posts of several authors never wait for a deletion that waits for them`(authors: [UInt64]) async throws {
        try await PlaceWorld.with { world in
            // Each has a post that stays, and one that is removed.
            for author in UInt64(1)...2 {
                try await world.pin(author, by: author, at: 1, 1)
                try await world.remove(try await world.pin(author + 10, by: author, at: 1, 1), by: author)
            }
            let deletion = try await world.database.transaction { sql in
                try await sql.execute("SET LOCAL lock_timeout = '500ms'")
                _ = try await votes(of: 3, on: PlaceWorld.post(authors[0]), world, sql)
                let deletion = Task { while try await world.removal.job.run(world.clock.now()) > 0 {} }
                try await eventually("the deletion waits for the vote") { try await isWaitingForVoters(world) }
                #expect(try await votes(of: 4, on: PlaceWorld.post(authors[1]), world, sql).up == 1)
                return deletion
            }
            try await deletion.value
            #expect(try await world.count("place_post") == 2)
            #expect(try await world.count("place_vote") == 2)
        }
    }

    @Test func `a hot post has a row for each connection, not for each vote`() async throws {
        try await PlaceWorld.with(poolSize: 6) { world in
            let post = try await world.pin(1, by: 1, at: 1, 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for voter in UInt64(2)...65 {
                    group.addTask { try await world.vote(voter % 4 == 0 ? .down : .up, on: post, by: voter) }
                }
                try await group.waitForAll()
            }
            #expect(try #require(try await world.count("place_vote_tally")) <= 6)
            #expect(try await votes(world, post) == [48, 16])
            try await world.countVotes()
            #expect(try await votes(world, post) == [48, 16])
        }
    }

    /// Voters on few posts, jobs that count at the same time, and readers: the counts are always those of the rows.
    @Test(arguments: TestDepth.seeds(quick: 2, full: 20))
    func `counts are exact while many vote, change and take back at once`(seed: UInt64) async throws {
        try await PlaceWorld.with(poolSize: 12) { world in
            var posts: [PostID] = []
            for number in UInt64(1)...3 { posts.append(try await world.pin(number, by: 1, at: 1, 1)) }
            let ids = posts
            try await withThrowingTaskGroup(of: Void.self) { group in
                for voter in UInt64(2)...17 {
                    group.addTask {
                        var random = Seeded(seed &* 1_000 &+ voter)
                        for _ in 0..<12 {
                            let vote = [Vote.up, .up, .down, nil][Int.random(in: 0..<4, using: &random)]
                            let reply = try await world.vote(vote, on: ids[Int.random(in: 0..<3, using: &random)], by: voter)
                            #expect(reply.up >= 0 && reply.down >= 0 && reply.up + reply.down <= 16)
                        }
                    }
                }
                for _ in 0..<2 { group.addTask { for _ in 0..<20 { try await world.countVotes() } } }
                try await group.waitForAll()
            }
            for _ in 0..<2 {
                for post in posts {
                    let rows = try await world.database.query(
                        """
                        SELECT count(*) FILTER (WHERE vote = 1), count(*) FILTER (WHERE vote = -1) FROM place_vote
                        WHERE post_id = \(post)
                        """
                    )
                    let (up, down) = try #require(rows.first).decode(as: (Int64.self, Int64.self))
                    #expect(try await votes(world, post) == [up, down])
                }
                try await world.countVotes()
                #expect(try await world.count("place_vote_tally") == 0)
            }
        }
    }

    @Test func `votes rank a post by the rule`() async throws {
        try await PlaceWorld.with { world in
            let post = try await world.pin(1, at: 1, 1)
            for voter in UInt64(2)...13 { try await world.vote(voter == 2 ? .down : .up, on: post, by: voter) }
            try await world.countVotes()
            let score = try await world.database.query("SELECT score FROM place_post").first?.decode(as: Double.self)
            #expect(score == PostScore.value(up: 11, down: 1, received: world.clock.now()))
            #expect(try await world.count("place_past_score") == 1)
            #expect(try await world.posts.deletePastScores(before: SystemClock.now() + .minutes(1), limit: 10) == 1)
        }
    }
}
