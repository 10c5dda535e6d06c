import Bus
import CommonAPI
import Foundation
import Kernel
import TestSupport
import Testing

/// Cursors of every list of the API (PF-3): no text leads to anything but a page or `VALIDATION_ERROR` naming `cursor`. The lists are those
/// of /openapi.json, so a new one is tested as soon as it is there.
struct CursorTests {
    /// A route that takes `cursor`.
    private struct List: Sendable, CustomStringConvertible {
        let path: String
        /// The method that answers it: one list may have two paths.
        let method: String
        /// The other choices that decide what it has, each with its values.
        let filters: [String: [String]]
        /// What it cannot do without: `user_id=…&`, or nothing.
        var required = ""
        var description: String { path }
        /// Its first page, of so many entries.
        func page(limit: Int) -> String { "\(path)?\(required)limit=\(limit)" }
    }

    private struct People {
        /// Whose lists have two entries and more.
        let ann: Person
        /// Who may call all of them too.
        let ben: Person
        let streak: String
        let circle: String
        /// With two completions that have notes.
        let habit: String
        let category: String
    }

    private func lists(_ home: Installation, _ people: People) async throws -> [List] {
        let page = try await home.call("GET", "/openapi.json").json
        return try page["paths"].names.sorted().compactMap { path in
            let parameters = page["paths"][path]["get"]["parameters"].list
            guard parameters.contains(where: { $0["name"].string == "cursor" }) else { return nil }
            var (filters, required): ([String: [String]], String) = ([:], "")
            for parameter in parameters where parameter["in"].string == "query" {
                let name = try #require(parameter["name"].string)
                // A language changes the words, not the list.
                guard !["cursor", "limit", "offset", "page", "locale"].contains(name) else { continue }
                if parameter["schema"]["type"].string == "boolean" {
                    filters[name] = ["true"]
                    continue
                }
                let free = [
                    "q": "a", "category_id": people.category, "bbox": "0,0,9,9", "geohash": "u", "since": "2026-01-01T00:00:00Z",
                    "author": people.ann.id, "admin_id": people.ann.id, "user_id": people.ann.id, "lat": "1&lon=1&radius=9",
                    "lon": "1&lat=1&radius=9", "radius": "9&lat=1&lon=1", "service": "social",
                ]
                if let free = free[name] {
                    if parameter["required"].bool == true { required += "\(name)=\(free)&" } else { filters[name] = [free] }
                    continue
                }
                let values = parameter["schema"]["enum"].list.compactMap(\.string).filter { $0 != "unspecified" }
                try #require(!values.isEmpty, "teach this test values of \(name) of \(path)")
                filters[name] = values
            }
            let filled = path.replacing("{streak_id}", with: people.streak).replacing("{user_id}", with: people.ann.id)
                .replacing("{type}", with: "recipe_creation")
                .replacing("{circle_id}", with: people.circle).replacing("{habit_id}", with: people.habit)
            try #require(!filled.contains("{"), "teach this test what fills \(path)")
            let operation = try #require(page["paths"][path]["get"]["operationId"].string)
            let method = operation.replacing(/Alias[0-9]+$/, with: "")
            return List(path: filled, method: method, filters: filters, required: required)
        }
    }

    /// Two administrators, and whatever lists show of the one.
    private func people(_ home: Installation) async throws -> People {
        var staff: [Person] = []
        for name in ["ann", "ben"] {
            var person = try await Person.register(name, at: home)
            _ = try await home.sql("UPDATE auth.account SET is_admin = true WHERE id = '\(person.id)'")
            try await person.signIn()
            staff.append(person)
        }
        let (ann, ben) = (staff[0], staff[1])
        let streak = try await ann.befriend(ben)
        var others: [Person] = []
        for number in 0..<7 { others.append(try await Person.register("other\(number)", at: home)) }
        try await ann.befriend(others[0])
        for other in others[1...2] { try #require(try await ann.request(other).status == 201) }
        for other in others[3...4] {
            try #require(try await ann.post("/api/blocks", "{\"user_id\":\"\(other.id)\"}").status == 201)
        }
        for other in others[5...6] {
            let report = "{\"subject_type\":\"user\",\"subject_id\":\"\(other.id)\",\"reason\":\"spam\"}"
            try #require(try await ben.post("/api/reports", report).status == 201)
            try #require(try await other.request(ann).status == 201)
        }
        try #require(try await ann.upload(try Photos.jpeg(121), to: streak).status == 201)
        _ = try await home.sql(
            """
            INSERT INTO media.streak_snap (streak_id, on_date, user_id, snap_id)
            SELECT streak_id, on_date - back, user_id, snap_id FROM media.streak_snap, generate_series(1, 3) AS back
            WHERE streak_id = '\(streak)'
            """
        )
        _ = try await home.sql(
            """
            INSERT INTO streaks.medal (id, user_id, name, line1, city, country, requested_at)
            SELECT gen_random_uuid(), id::uuid, 'A Name', 'A Road 1', 'A Town', 'DE', now()
            FROM unnest(ARRAY['\(ann.id)', '\(ben.id)']) AS person (id)
            """
        )
        for number in UInt64(122)...123 { try #require(try await ann.pin(try Photos.jpeg(number), at: 1, 1).status == 201) }
        // Two runs of a typed streak: today's, and one of six days ago.
        try #require(try await ann.post("/api/streaks/typed/recipe_creation/activity", "{}").status == 200)
        let typed = "(SELECT id FROM streaks.streak WHERE kind = 4 AND '\(ann.id)' = ANY(members))"
        _ = try await home.sql("UPDATE streaks.streak SET started_at = started_at - interval '9 days' WHERE id = \(typed)")
        _ = try await home.sql(
            """
            INSERT INTO streaks.contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT streak_id, user_id, on_date - 6, received_at - interval '6 days', recorded_at - interval '6 days', gen_random_uuid()
            FROM streaks.contribution WHERE streak_id = \(typed)
            """
        )
        for amount in [1, 2] {
            let grant = "{\"currency\":\"coins\",\"amount\":\(amount),\"reason\":\"pages\"}"
            try #require(try await ben.post("/api/admin/users/\(ann.id)/wallet/grants", grant).status == 201)
        }
        _ = try await ann.circle("First", with: [ben])
        let circle = try await checkedInCircle(of: ann, ben)
        // The inspector shows a streak's dates: today's and one before it.
        _ = try await home.sql(
            """
            INSERT INTO streaks.contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT streak_id, user_id, on_date - 1, received_at, recorded_at, gen_random_uuid()
            FROM streaks.contribution WHERE streak_id = '\(streak)'
            """
        )
        try await parkEvents(at: home)
        let (habit, category) = try await habits(of: ann)
        return People(ann: ann, ben: ben, streak: streak, circle: circle, habit: habit, category: category)
    }

    private func checkedInCircle(of ann: Person, _ ben: Person) async throws -> String {
        let (circle, _) = try await ann.circle("Second", with: [ben])
        for person in [ann, ben] {
            let checkIn = try await person.post("/api/circles/\(circle)/check-in", "{}")
            try #require(checkIn.status == 200, "\(checkIn.text)")
        }
        return circle
    }

    /// In a feature that no replica runs, so that nothing tries them again by itself.
    private func parkEvents(at home: Installation) async throws {
        _ = try await home.sql(
            """
            INSERT INTO social.event_retry (event_id, feature, aggregate, subject, trace, request_id, body, attempts, parked_at)
            SELECT gen_random_uuid(), 'nowhere', 'pages', 'evt.auth.v1.ProfileChanged', '', '', '', 10, clock_timestamp()
            FROM generate_series(1, 2)
            """
        )
    }

    /// Some declared outages, long before anyone posted.
    private func declareOutages(at home: Installation) async throws {
        _ = try await home.sql(
            """
            INSERT INTO streaks.outage (id, from_at, until_at, declared_at, finished_at)
            SELECT gen_random_uuid(), '2020-01-01'::timestamptz + hour * interval '1 hour', '2020-01-02', '2020-01-03', '2020-01-03'
            FROM generate_series(1, 3) AS hour ON CONFLICT DO NOTHING
            """
        )
    }

    /// Two habits, of which one has two completions with notes.
    private func habits(of person: Person) async throws -> (habit: String, category: String) {
        var ids: [String] = []
        let category = try #require(try await person.get("/api/habits/categories").data["categories"][0]["id"].string)
        for name in ["Read", "Walk"] {
            let body = "{\"name\":\"\(name)\",\"category_id\":\"\(category)\",\"target_value\":9}"
            ids.append(try #require(try await person.post("/api/habits", body).data["id"].string))
        }
        for note in ["one", "two"] {
            let done = try await person.post("/api/habits/\(ids[0])/completions", "{\"value\":1,\"note\":\"\(note)\"}")
            try #require(done.status == 201, "\(done.text)")
        }
        return (ids[0], category)
    }

    private func get(_ list: List, cursor: String, _ reader: Person, filters: String = "", limit: Int = 1) async throws
        -> HTTPReply
    {
        let escaped = try #require(cursor.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        return try await reader.get("\(list.page(limit: limit))\(filters)&cursor=\(escaped)")
    }

    private func isRefused(_ reply: HTTPReply) -> Bool {
        reply.status == 400 && reply.code == "VALIDATION_ERROR" && reply.fields == ["cursor"]
    }

    /// The cursor after the first entry of each list.
    private func cursors(_ lists: [List], _ reader: Person) async throws -> [String] {
        var cursors: [String] = []
        for list in lists {
            // Notifications arrive a moment later.
            try await eventually("\(list) has a second page") {
                try await reader.get(list.page(limit: 1)).json["meta"]["next_cursor"].string != nil
            }
            cursors.append(try #require(try await reader.get(list.page(limit: 1)).json["meta"]["next_cursor"].string))
        }
        return cursors
    }

    /// What is almost a cursor.
    private func mutations(of cursor: String, _ random: inout Seeded) -> [String] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        return (0..<250).map { _ in
            var text = Array(cursor)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[index] = random.pick(alphabet)
                case 1: text.remove(at: index)
                default: text.insert(random.pick(alphabet), at: index)
                }
            }
            return String(text)
        } + (1..<cursor.count).map { String(cursor.prefix($0)) }
    }

    /// What never was one: bytes of any length, among them 24 (an instant and an id) that no database holds, and dates.
    private func garbage(_ random: inout Seeded) -> [String] {
        let counts = Array(repeating: 24, count: 60) + (0..<60).map { _ in Int.random(in: 1...150, using: &random) }
        let bytes = counts.map { count in
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        return bytes.map { Base64URL.encode($0) } + [
            "gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "f_____________________________________", "x", "0", "-1", "null", "2026-05-01",
            "0000-00-00",
            "9999-12-31", "' OR 1=1; --", "\u{0}", "a\u{0}b", "\u{1F600}", " ", "%", "=", String(repeating: "A", count: 199),
            String(repeating: "A", count: 201), String(repeating: "A", count: 3_000),
        ]
    }

    @Test(.timeLimit(.minutes(10)))
    func `many changed and made-up cursors are refused by every list, and none is an error of ours`()
        async throws
    {
        let home = try await Installation.shared.value
        let people = try await people(home)
        try await declareOutages(at: home)
        let lists = try await lists(home, people)
        #expect(lists.count >= 6, "friends, requests, blocks, reports, notifications, snaps: \(lists)")
        let cursors = try await cursors(lists, people.ann)
        var random = Seeded(7)
        for (list, cursor) in zip(lists, cursors) {
            let page = try await get(list, cursor: cursor, people.ann)
            #expect(page.status == 200, "\(list): \(page.text)")
            let all = (mutations(of: cursor, &random) + garbage(&random)).filter { $0 != cursor && !$0.isEmpty }
            let texts = stride(from: 0, to: all.count, by: TestDepth.pick(quick: 3, full: 1)).map { all[$0] }
            let wrong = try await withThrowingTaskGroup(of: [String].self) { tasks in
                for part in 0..<6 {
                    tasks.addTask {
                        var wrong: [String] = []
                        for (index, text) in texts.enumerated() where index % 6 == part {
                            let reply = try await get(list, cursor: text, people.ann)
                            if !isRefused(reply) { wrong.append("\(list) \(text): \(reply.status) \(reply.text)") }
                        }
                        return wrong
                    }
                }
                return try await tasks.reduce(into: []) { $0 += $1 }
            }
            #expect(texts.count > 115 && wrong.isEmpty, "\(wrong.count) of \(texts.count): \(wrong.prefix(5))")
        }
    }

    @Test func `a cursor of another list, of another user or of other filters is refused`() async throws {
        let home = try await Installation.shared.value
        let people = try await people(home)
        try await declareOutages(at: home)
        let lists = try await lists(home, people)
        let cursors = try await cursors(lists, people.ann)
        for (list, own) in zip(lists, cursors) {
            for (other, cursor) in zip(lists, cursors) {
                let reply = try await get(list, cursor: cursor, people.ann)
                let isOwn = other.method == list.method
                #expect(isOwn ? reply.status == 200 : isRefused(reply), "\(other) → \(list): \(reply.text)")
            }
            let foreign = try await get(list, cursor: own, people.ben)
            #expect(isRefused(foreign), "\(list): \(foreign.text)")
            let larger = try await get(list, cursor: own, people.ann, limit: 50)
            #expect(larger.status == 200, "the size of a page may change: \(list): \(larger.text)")
            for (name, values) in list.filters {
                let replies = try await values.asyncMap {
                    try await get(list, cursor: own, people.ann, filters: "&\(name)=\($0)")
                }
                // One of the values may be the default.
                #expect(replies.count(where: isRefused) >= values.count - 1, "\(list) \(name): \(replies.map(\.text))")
                #expect(replies.allSatisfy { isRefused($0) || $0.status == 200 })
            }
        }
    }

    @Test func `snapshots that services ask each other for go on after any id, and after nothing else`() async throws {
        let home = try await Installation.shared.value
        let bus = try await home.bus()
        var random = Seeded(8)
        for text in garbage(&random) where !text.utf8.contains(0) {
            for list in ["auth.v1.ListProfileSnapshots", "social.v1.ListBlockSnapshots"] {
                let refused = await #expect(throws: ServiceError.self, "\(list): \(text)") {
                    try await snapshot(list, after: text, bus)
                }
                #expect(
                    refused?.reason == "VALIDATION_ERROR" && refused?.details.map(\.field) == ["after"],
                    "\(list): \(text): \(refused as Any)"
                )
            }
        }
        for id in [UserID(high: 0, low: 0), UserID(high: .max, low: .max), UserID(high: random.next(), low: random.next())] {
            try await snapshot("auth.v1.ListProfileSnapshots", after: id.description, bus)
            try await snapshot("social.v1.ListBlockSnapshots", after: id.description, bus)
        }
        await bus.close()
    }

    /// Asks for what follows any text: a typed request holds ids only, so its bytes are written here.
    private func snapshot(_ method: String, after text: String, _ bus: BusConnection) async throws {
        let count = text.utf8.count
        let length = count < 128 ? [UInt8(count)] : [UInt8(count & 127 | 128), UInt8(count >> 7)]
        _ = try await bus.callRaw(
            subject: "rpc.\(method)",
            body: [0x0A] + length + Array(text.utf8),
            context: CallContext(principal: Principal(role: .service)),
            idempotent: true
        )
    }
}
