import AuthAPI
import Database
import Kernel
import SocialAPI
import SocialDomain
import Testing

@testable import SocialFriends

@Suite("The search for people", .timeLimit(.minutes(4)))
struct SearchTests {
    private func know(
        _ world: World,
        _ number: UInt64,
        _ username: String,
        _ name: String,
        email: String = "",
        status: AccountStatus = .active,
        version: Int64 = 1
    ) async throws {
        let state = ProfileState(
            userID: UserID(high: 1, low: number),
            version: version,
            username: username,
            displayName: name,
            timeZone: "UTC",
            status: status,
            verifiedEmail: email
        )
        try await world.database.transaction { sql in try await SearchRepository.store(state, sql) }
    }

    private let me = UserID(high: 1, low: 0)

    @Test func `finds by beginnings and insides of names, best first, and by an e-mail address only as a whole`() async throws {
        try await withWorld { world in
            try await know(world, 1, "ann", "Zoe")
            try await know(world, 2, "annabel", "Zoe")
            try await know(world, 3, "x1", "Maria Anna", email: "maria@example.org")
            try await know(world, 4, "x2", "Johanna", email: "annex@example.org")
            try await know(world, 5, "joanne", "Jo")
            #expect(try await world.search(me, "ann") == ["ann", "x1", "annabel", "x2", "joanne"])
            #expect(try await world.search(me, "  @ANNA ") == ["x1", "annabel", "x2"])
            #expect(try await world.search(me, "an") == ["ann", "x1", "annabel"], "two letters find beginnings only")
            #expect(try await world.search(me, " Maria@Example.org") == ["x1"])
            // An address whose beginnings found a user could be read letter by letter.
            let address = "maria@example.org"
            for length in 6..<address.count {
                #expect(try await world.search(me, String(address.prefix(length))) == [], "\(length)")
            }
            for part in ["example.org", "aria@example.org", "maria@example.orgs"] {
                #expect(try await world.search(me, part) == [])
            }
            for pattern in ["%", "_nn", "an%a"] { #expect(try await world.search(me, pattern) == [], "\(pattern)") }
            let blank = await #expect(throws: ServiceError.self) { try await world.search(me, " @ ") }
            #expect(blank?.details.first?.field == "q")
        }
    }

    @Test func `knows letters beyond ASCII in either case`() async throws {
        try await withWorld { world in
            try await know(world, 1, "x1", "Élodie Groß")
            try await know(world, 2, "x2", "Мария")
            try await know(world, 3, "x3", "日本太郎")
            #expect(try await world.search(me, "éLO") == ["x1"])
            for typed in ["elodie", "E\u{301}lodie", "lodie gro"] {
                #expect(try await world.search(me, typed) == ["x1"], "\(typed)")
            }
            try await know(world, 4, "x4", "Zoe\u{308} Straße")
            for typed in ["zoe", "Zoë", "zoe\u{308} str"] { #expect(try await world.search(me, typed) == ["x4"], "\(typed)") }
            #expect(try await world.search(me, "roß") == ["x1"])
            #expect(try await world.search(me, "АРИ") == ["x2"])
            #expect(try await world.search(me, "日") == ["x3"])
            #expect(try await world.search(me, "本太郎") == ["x3"])
        }
    }

    /// 50 characters as a person counts them, and hundreds of code points: each ending of a name is an entry.
    @Test func `a name of many code points is found by its beginning, and its entries are bounded`() async throws {
        try await withWorld { world in
            let (family, marked) = ("👨‍👩‍👧‍👦", "a" + String(repeating: "\u{DDD}", count: 10))
            try await know(world, 1, "x1", String(repeating: family, count: 49) + "z")
            #expect(try await world.search(me, family) == ["x1"])
            // Marks that are three letters in the form that names are compared in.
            try await know(world, 2, "x2", String(repeating: marked, count: 50))
            #expect(try await world.search(me, "x2") == ["x2"])
            let entries = try await world.database.query("SELECT length(term) FROM search_term").map {
                try $0.decode(as: Int32.self)
            }
            #expect(entries.count <= 2 * 125 && entries.allSatisfy { $0 <= 120 }, "\(entries.count)")
            for number in UInt64(1)...2 { try await know(world, number, "y\(number)", "Short", version: 2) }
            #expect(try await world.search(me, family) == [])
            let left = try await world.database.query("SELECT 1 FROM search_term WHERE length(term) > 5")
            #expect(left.isEmpty, "nothing of the long names is left")
        }
    }

    @Test func `never shows oneself, blocked either way, or an account that is not active`() async throws {
        try await withWorld { world in
            for number in UInt64(0)...5 { try await know(world, number, "same\(number)", "Same") }
            let people = (0...5).map { world.person(UInt64($0), username: "same\($0)", name: "Same") }
            _ = try await world.block(people[0], people[1])
            _ = try await world.block(people[2], people[0])
            for (number, status) in [(UInt64(3), AccountStatus.suspended), (4, .deleted)] {
                try await know(world, number, "same\(number)", "Same", status: status, version: 2)
            }
            #expect(try await world.search(people[0], "same") == ["same5"])
            #expect(try await world.search(people[0], "ame") == ["same5"])
            #expect(try await world.search(people[0], "same2") == [])
            #expect(try await world.search(people[1], "same") == ["same2", "same5"])
            try await know(world, 3, "same3", "Same", version: 3)
            #expect(try await world.search(people[0], "same") == ["same3", "same5"], "a suspension that is lifted")
        }
    }

    @Test func `drops old names, and shows what the two are to each other`() async throws {
        try await withWorld { world in
            let (ann, ben) = (world.person(1), world.person(2, username: "newname", name: "New Name"))
            try await know(world, 2, "oldname", "Old Name", email: "old@example.org")
            try await know(world, 2, "newname", "New Name", email: "new@example.org", version: 2)
            for old in ["oldname", "dna", "old@example.org", "Old N"] { #expect(try await world.search(me, old) == [], "\(old)") }
            #expect(try await world.database.query("SELECT 1 FROM search_term WHERE term LIKE 'old%'").isEmpty)
            for new in ["newname", "wna", "new@example.org", "name"] {
                #expect(try await world.search(me, new) == ["newname"], "\(new)")
            }
            let asked = try await world.request(ann, ben)
            for (user, direction) in [(ann, Direction.outgoing), (ben, .unspecified)] {
                let found = try await world.service.searchUsers(SearchUsersRequest(q: "newname"), context: World.by(user)).users
                #expect(found.map(\.direction) == (direction == .outgoing ? [.outgoing] : []))
                #expect(found.compactMap(\.friendshipID) == (direction == .outgoing ? [asked.friendshipID] : []))
            }
        }
    }

    @Test func `reads as much of the index as it answers, however many match`() async throws {
        try await withWorld { world in
            let script: [Query] = [
                """
                INSERT INTO search_person SELECT md5(n::text)::uuid, 'user_' || n, 'Anna Example ' || n % 100, ''
                FROM generate_series(1, 20000) AS n
                """,
                """
                INSERT INTO search_term SELECT t.kind, t.term, p.user_id
                FROM search_person p CROSS JOIN LATERAL search_terms(p.username, p.display_name, p.email) AS t
                """,
                """
                INSERT INTO block SELECT gen_random_uuid(), md5(n::text)::uuid, md5((n + 1)::text)::uuid, 1, true, now()
                FROM generate_series(1, 5000) AS n
                """,
                "ANALYZE search_person, search_term, block",
            ]
            try await world.database.withSession(statementTimeout: .minutes(2)) { session in
                for statement in script { try await session.execute(statement) }
            }
            for q in ["a", "us", "anna", "user_1", "xample", "ser_", "no such user"] {
                #expect(try await world.search(me, q).count == (q == "no such user" ? 0 : 20), "\(q)")
                let explained: Query =
                    "EXPLAIN (ANALYZE, TIMING OFF) \(SearchRepository.query(try SearchText(q), by: me, limit: 20))"
                let plan = try await world.database.query(explained).map { try $0.decode(as: String.self) }
                let scans = plan.filter { $0.contains(" search_term") }
                #expect(!scans.isEmpty && scans.allSatisfy { $0.contains("using search_term_pkey") }, "\(plan)")
                #expect(!plan.contains { $0.contains("Seq Scan on search_person") }, "\(plan)")
                let rows = scans.compactMap { line in
                    line.split(separator: "actual rows=").last.flatMap { Int($0.prefix { $0.isNumber }) }
                }
                #expect(rows.count == scans.count && rows.allSatisfy { $0 <= 80 }, "\(plan)")
            }
        }
    }
}
