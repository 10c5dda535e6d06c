import Kernel
import NotificationsAPI
import NotificationsDomain
import TestSupport
import Testing

@testable import NotificationsCore
@testable import NotificationsPush

/// What becomes of pushes when the provider, a device, or a process of ours fails (NO-3, NO-6).
struct ProviderTests {
    /// A reader with so many devices, each of which gets one push.
    private func queue(_ count: Int, in world: World, from first: Int = 0) async throws -> [String] {
        let ben = try await world.person(1_000_000, name: "Ben")
        var names: [String] = []
        for number in first..<first + count {
            // Users have at most 20 devices.
            let ann = try await world.person(UInt64(number / 10 + 1))
            names.append("d\(number)")
            try await world.device(ann, "d\(number)")
            if number % 10 == 9 || number == first + count - 1 { try await world.request(ben, ann, UInt64(number)) }
        }
        return names.map(World.token)
    }

    private func count(_ pushes: [ExpoServer.Push]) -> [String: Int] { Dictionary(grouping: pushes, by: \.to).mapValues(\.count) }

    /// Ends the back-off.
    private func hurry(_ world: World) async throws {
        try await world.database.execute("UPDATE push_provider SET away_until = clock_timestamp()")
    }

    /// Runs the job until all pushes have left the queue; pauses of the provider are by the machine's clock.
    private func handOver(_ world: World, within limit: Duration = .seconds(60)) async throws {
        try await eventually("nothing waits", within: limit) {
            try await world.run("pushes")
            return try await !world.states().contains { $0.hasPrefix("queued") }
        }
    }

    @Test func `many pushes leave once each, in batches of 100, over at most six connections, at the provider's speed`()
        async throws
    {
        try await withWorld { world in
            let tokens = try await queue(1_200, in: world)
            try world.expo.behave(#"{"slow": 0.05}"#)
            world.clock.advance(by: .seconds(60))
            let start = ContinuousClock.now
            let began = try #require(try await world.database.query("SELECT clock_timestamp()").first?.decode(as: Instant.self))
            // As several replicas.
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<12 { tasks.addTask { try await world.run("pushes") } }
                try await tasks.waitForAll()
            }
            try await handOver(world)
            #expect(count(try world.expo.pushes) == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) }))
            let requests = try world.expo.requests
            // 500 in a second, from the first one on. On a busy machine they may still arrive together, and the provider then refuses some.
            let reserved = try await world.database.query("SELECT free_at FROM push_provider").first?.decode(as: Instant.self)
            #expect(try #require(reserved) >= began + .milliseconds(2_400))
            #expect(requests.allSatisfy { ($0.count ?? 0) <= 100 && $0.most_open <= 6 })
            // The provider takes 600 in a second.
            #expect(ContinuousClock.now - start > .seconds(1))
            #expect(try await world.states() == ["sent 1200"])
        }
    }

    @Test(arguments: [
        #"{"mode": "status", "status": 500, "times": 4}"#, #"{"mode": "status", "status": 503, "retry_after": "1", "times": 2}"#,
        #"{"mode": "status", "status": 429, "code": "TOO_MANY_REQUESTS", "retry_after": "1", "times": 2}"#,
        #"{"mode": "status", "status": 401, "code": "UNAUTHORIZED", "times": 2}"#,
    ])
    func `a provider that takes nothing delays pushes, loses none and gets none twice`(behaviour: String) async throws {
        try await withWorld { world in
            let tokens = try await queue(30, in: world)
            try world.expo.behave(behaviour)
            world.clock.advance(by: .seconds(60))
            try await world.run("pushes")
            #expect(try world.expo.pushes.isEmpty)
            #expect(try await world.states() == ["queued 30"])
            try await handOver(world)
            #expect(count(try world.expo.pushes) == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) }))
        }
    }

    @Test func `a provider that cannot be reached gets everything when it is back`() async throws {
        try await withWorld { world in
            let tokens = try await queue(30, in: world)
            await world.expo.kill()
            world.clock.advance(by: .seconds(60))
            for _ in 0..<5 { try await world.run("pushes") }
            #expect(try await world.states() == ["queued 30"])
            let known = try await world.database.query("SELECT max(unanswered) FROM delivery").first?.decode(as: Int16.self)
            #expect(known == 0, "what has not left is not counted")
            try await world.expo.start()
            try await handOver(world)
            #expect(count(try world.expo.pushes) == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) }))
        }
    }

    @Test(arguments: ["cut", "lose", "malformed"])
    func `after an answer that was lost a push leaves once more, when the provider answers again`(mode: String) async throws {
        try await withWorld { world in
            let tokens = try await queue(30, in: world)
            try world.expo.behave("{\"mode\": \"\(mode)\", \"times\": 3}")
            world.clock.advance(by: .seconds(60))
            try await handOver(world)
            let counts = count(try world.expo.pushes)
            let expected = mode == "cut" ? 1 : 2
            #expect(counts == Dictionary(uniqueKeysWithValues: tokens.map { ($0, expected) }), "\(mode)")
            // The three after the first were probes, which handed over nothing; then one push tried it for all.
            #expect(try world.expo.requests.map(\.path) == Array(repeating: "/send", count: 6))
            #expect(try world.expo.requests.map(\.count) == [30, 0, 0, 0, 1, 29])
        }
    }

    @Test func `a provider that loses every answer gets no push a third time`() async throws {
        try await withWorld { world in
            let tokens = try await queue(20, in: world)
            try world.expo.behave(#"{"mode": "lose", "paths": ["/send"]}"#)
            world.clock.advance(by: .seconds(60))
            for _ in 0..<10 {
                try await hurry(world)
                try await world.run("pushes")
            }
            #expect(
                count(try world.expo.pushes) == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) }),
                "the rest were probes"
            )
            #expect(try await world.states() == ["queued 20"])
            try world.expo.behave("{}")
            try await hurry(world)
            try await handOver(world)
            #expect(count(try world.expo.pushes) == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 2) }))
            #expect(try await world.states() == ["sent 20"])
        }
    }

    @Test(arguments: ["hang", "cut"]) func `a provider that stays silent again and again loses no push that it takes later`(
        mode: String
    ) async throws {
        try await withWorld { world in
            let tokens = try await queue(10, in: world)
            world.clock.advance(by: .seconds(60))
            // Each time it falls silent with others under way, and answers again.
            var expected = Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) })
            for round in 1...3 {
                try world.expo.behave("{\"mode\": \"\(mode)\", \"seconds\": 1}")
                try await hurry(world)
                try await world.run("pushes")
                #expect(try await world.states().contains { $0.hasPrefix("queued") })
                try world.expo.behave("{}")
                try await hurry(world)
                try await handOver(world)
                #expect(count(try world.expo.pushes) == expected)
                for token in try await queue(3, in: world, from: 100 * round) { expected[token] = 1 }
                world.clock.advance(by: .seconds(60))
            }
            try await handOver(world)
            #expect(count(try world.expo.pushes) == expected)
            #expect(try await !world.states().contains { $0.hasPrefix("failed") })
        }
    }

    @Test func `a provider that answers probes and no hand-over gets no push a third time, and spoils few`() async throws {
        try await withWorld { world in
            let tokens = try await queue(40, in: world)
            try world.expo.behave(#"{"mode": "lose", "paths": ["/send"], "spares_empty": true}"#)
            world.clock.advance(by: .seconds(60))
            for _ in 0..<5 {
                // A probe, and the one push that tries it for all.
                for _ in 0..<2 {
                    try await hurry(world)
                    try await world.run("pushes")
                }
            }
            let counts = count(try world.expo.pushes)
            #expect(counts.values.allSatisfy { $0 <= 2 } && counts.count == 40)
            let spoilt = counts.values.filter { $0 == 2 }.count
            #expect((1...10).contains(spoilt), "\(spoilt) of 40 have had both")
            try world.expo.behave("{}")
            try await hurry(world)
            try await handOver(world)
            let after = count(try world.expo.pushes)
            #expect(Set(after.keys) == Set(tokens) && after.values.allSatisfy { $0 == 2 })
            // Taken twice, and not answered: nothing could say so.
            #expect(Set(try await world.reasons()) == ["NoAnswer"])
        }
    }

    @Test func `a process that dies after the hand-over leaves a push that is handed over once more, and not a third time`()
        async throws
    {
        try await withWorld { world in
            _ = try await queue(2, in: world)
            world.clock.advance(by: .seconds(60))
            // As a replica leaves them that is killed after its first commit: claimed, noted, without an answer.
            func claim() async throws {
                let due = try await world.database.transaction { sql in
                    let due = try await DeliveryRepository.lockDue(at: world.clock.now(), limit: 10, sql)
                    try await DeliveryRepository.noteHandOver(due.map(\.id), sql)
                    return due
                }
                #expect(due.count == 2)
            }
            try await claim()
            try await world.run("pushes")
            #expect(try world.expo.pushes.isEmpty, "its claim holds for a minute of the machine's clock")
            world.clock.advance(by: .hours(2))
            try await world.run("pushes")
            #expect(try world.expo.pushes.isEmpty, "the development clock does not end it")
            try await world.database.execute("UPDATE delivery SET claimed_until = clock_timestamp()")
            try await claim()
            try await world.database.execute("UPDATE delivery SET claimed_until = clock_timestamp()")
            try await world.run("pushes")
            #expect(try world.expo.pushes.isEmpty)
            #expect(try await world.states() == ["failed 2"])
        }
    }

    @Test func `a device that is no longer registered ends, unless it registers again`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for name in ["gone", "late", "good"] { try await world.device(ann, name) }
            try world.expo.behave(
                """
                {"tickets": {"\(World.token("gone"))": "DeviceNotRegistered"},
                "receipts": {"\(World.token("late"))": "DeviceNotRegistered"}}
                """
            )
            try await world.posted(ben, for: ann)
            try await world.push()
            #expect(try await world.states() == ["sent 2", "failed 1"])
            // Asked too early, the provider may not know yet.
            world.clock.advance(by: .minutes(14))
            try await world.run("push_receipts")
            #expect(try world.expo.requests.map(\.path) == ["/send"])
            world.clock.advance(by: .minutes(1))
            try await world.run("push_receipts")
            #expect(try await world.states() == ["received 1", "failed 2"])
            try await world.posted(ben, for: ann)
            try await world.push()
            #expect(try world.expo.pushes.map(\.to).sorted() == ["good", "good", "late"].map(World.token))
            try world.expo.behave("{}")
            try await world.device(ann, "gone")
            try await world.posted(ben, for: ann)
            try await world.push()
            #expect(Set(try world.expo.pushes.suffix(2).map(\.to)) == Set(["gone", "good"].map(World.token)))
        }
    }

    @Test func `a receipt that is not there is asked for again, until the provider has deleted it`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try world.expo.behave(#"{"missing": true}"#)
            try await world.request(ben, ann)
            try await world.push()
            for _ in 0..<(25 * 12) {
                world.clock.advance(by: .minutes(5))
                try await world.run("push_receipts")
            }
            let asked = try world.expo.requests.filter { $0.path == "/getReceipts" }.count
            #expect((5...10).contains(asked), "\(asked)")
            #expect(try await world.states() == ["sent 1"])
            let due = try await world.database.query("SELECT count(*)::int FROM delivery WHERE due_at IS NOT NULL")
            #expect(try due.first?.decode(as: Int32.self) == 0)
        }
    }

    @Test func `a device that gets too many pushes is left alone for a time, and others are not`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for name in ["busy", "good"] { try await world.device(ann, name) }
            try world.expo.behave("{\"tickets\": {\"\(World.token("busy"))\": \"MessageRateExceeded\"}}")
            try await world.request(ben, ann)
            try await world.push()
            try world.expo.behave("{}")
            try await world.request(ben, ann, 8)
            try await world.push()
            #expect(try world.expo.pushes.map(\.to) == ["good", "good"].map(World.token))
            world.clock.advance(by: .minutes(10))
            try await world.run("pushes")
            #expect(try world.expo.pushes.map(\.to).filter { $0 == World.token("busy") }.count == 2, "none is lost")
        }
    }

    @Test func `a token of another project does not hold up its batch, and its device ends`() async throws {
        try await withWorld { world in
            let tokens = try await queue(20, in: world)
            let eve = try await world.person(77)
            try await world.device(eve, "other-1")
            try await world.request(UserID(high: 1, low: 1_000_000), eve, 99)
            world.clock.advance(by: .seconds(60))
            try await handOver(world)
            #expect(count(try world.expo.pushes) == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) }))
            #expect(try await world.states() == ["sent 20", "failed 1"])
            #expect(try await world.reasons() == ["OtherProject"])
            let devices = try await world.database.query("SELECT count(*)::int FROM device WHERE user_id = \(eve)")
            #expect(try devices.first?.decode(as: Int32.self) == 0)
        }
    }

    @Test func `one push that makes a request invalid is found, and all others leave once`() async throws {
        try await withWorld { world in
            let tokens = try await queue(60, in: world)
            let eve = try await world.person(77)
            try await world.device(eve, "bad-1")
            try await world.request(UserID(high: 1, low: 1_000_000), eve, 99)
            world.clock.advance(by: .seconds(60))
            try await handOver(world)
            #expect(count(try world.expo.pushes) == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) }))
            #expect(try await world.states() == ["sent 60", "failed 1"])
            #expect(try await world.reasons() == ["VALIDATION_ERROR"])
            // Halving: not one request for each push.
            #expect(try world.expo.requests.count < 16)
        }
    }

    @Test func `pushes leave one of the six connections to receipts`() async throws {
        try await withWorld { world in
            let holder: OperationID = world.environment.ids.make()
            try await world.environment.work.run(trace: "", requestID: "") { work in
                var slots: [Int32] = []
                while let slot = try await ProviderRepository.takeSlot(holder, isForPushes: true, work.sql) { slots.append(slot) }
                #expect(slots.count == PushJob.lanes && Set(slots).count == 5)
                let last = try #require(try await ProviderRepository.takeSlot(holder, isForPushes: false, work.sql))
                #expect(!slots.contains(last))
                #expect(try await ProviderRepository.takeSlot(holder, isForPushes: false, work.sql) == nil)
            }
        }
    }

    @Test func `pushes without a connection stay as they are, and leave when there is one`() async throws {
        try await withWorld { world in
            let tokens = try await queue(3, in: world)
            world.clock.advance(by: .seconds(60))
            try await world.database.execute("UPDATE push_slot SET held_until = clock_timestamp() + interval '1 hour'")
            try await world.run("pushes")
            #expect(try world.expo.requests.isEmpty)
            let untouched = try await world.database.query("SELECT 1 FROM delivery WHERE claimed_until IS NULL AND attempts = 0")
            #expect(untouched.count == 3)
            try await world.database.execute("UPDATE push_slot SET held_until = clock_timestamp()")
            try await world.run("pushes")
            #expect(Set(try world.expo.pushes.map(\.to)) == Set(tokens))
            #expect(try await world.database.query("SELECT 1 FROM push_slot WHERE held_until > clock_timestamp()").isEmpty)
        }
    }

    @Test func `errors that only the operator can mend are in the metrics`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try world.expo.behave("{\"tickets\": {\"\(World.token("phone"))\": \"InvalidCredentials\"}}")
            try await world.request(ben, ann)
            try await world.push()
            let page = world.environment.metrics.text()
            let line = "streaksnap_pushes_total{state=\"failed\",reason=\"InvalidCredentials\"} 1"
            #expect(page.contains(line), "\(page)")
            #expect(page.contains("streaksnap_push_requests_total{result=\"200\"} 1"))
        }
    }
}
