import AuthAPI
import BillingAPI
import Database
import Kernel
import Outbox
import Replicas
import StreaksAPI
import StreaksDomain
import Synchronization
import TestSupport
import Testing

@testable import Runtime
@testable import StreaksCore
@testable import StreaksService

/// Facts of other services that come after dates were settled without them (SD-3, SD-5, SD-6).
@Suite(.timeLimit(.minutes(5))) struct LateFactTests {
    private func zoneChanged(_ world: World, _ user: UserID, to zone: String, since: String, version: Int64 = 2) async throws {
        let profile = ProfileState(
            userID: user,
            version: version,
            username: "person",
            displayName: "Person",
            timeZone: zone,
            status: .active,
            timeZoneSince: moment(since)
        )
        try await world.consume(ProfileChanged(userID: user, profile: profile))
    }

    /// Two in Kathmandu, where the second of May ends at 18:15Z; on it only the first posted.
    private func pair(_ world: World) async throws -> (a: UserID, b: UserID, streak: StreakID) {
        let a = try await world.person(1, zone: "Asia/Kathmandu")
        let b = try await world.person(2, zone: "Asia/Kathmandu")
        let streak = try await world.befriend(a, b)
        for user in [a, b] { try await world.post(user, to: [streak]) }
        world.clock.set(moment("2026-05-02T03:00:00Z"))
        try await world.post(a, to: [streak])
        return (a, b, streak)
    }

    private func row(_ world: World, _ streak: StreakID) async throws -> StreakRow {
        try #require(try await world.service.store.row(streak))
    }

    @Test func `a zone that is consumed after the old midnight undoes the break, once, and the date ends where it ends`()
        async throws
    {
        try await withWorld(at: "2026-05-01T03:00:00Z") { world in
            let (a, b, streak) = try await pair(world)
            world.clock.set(moment("2026-05-02T18:20:00Z"))
            try await world.settle()
            #expect(try await row(world, streak).status == .broken)
            world.clock.set(moment("2026-05-02T18:30:00Z"))
            try await zoneChanged(world, a, to: "America/Los_Angeles", since: "2026-05-02T17:00:00Z")
            let active = try await row(world, streak)
            #expect(active.status == .active && active.count == 1 && active.brokenBy == nil && active.brokenAt == nil)
            #expect(active.deadlineAt == moment("2026-05-03T07:00:00Z") && active.nextDue == active.deadlineAt)
            // Redelivered, and settled again: nothing more is emitted.
            try await zoneChanged(world, a, to: "America/Los_Angeles", since: "2026-05-02T17:00:00Z")
            try await world.settle()
            let restored = try await world.events(StreakRestored.self)
            #expect(restored.count == 1 && restored[0].streakID == streak && restored[0].count == 1)
            #expect(try await world.post(b, to: [streak]).outcomes[0].refused == nil, "B's third of May")
            // B missed the second, also by the clock that decides.
            world.clock.set(moment("2026-05-03T07:01:30Z"))
            try await world.settle()
            let broken = try await world.events(StreakBroken.self)
            #expect(broken.map(\.brokenAt) == [moment("2026-05-02T18:15:00Z"), moment("2026-05-03T07:00:00Z")])
            #expect(broken.allSatisfy { $0.brokenByUserID == b })
        }
    }

    @Test func `what the ledger says later is what was emitted: from rows, from a checkpoint, and as if received in time`()
        async throws
    {
        try await withWorld(at: "2026-05-01T03:00:00Z") { world in
            let (a, _, streak) = try await pair(world)
            world.clock.set(moment("2026-05-02T18:20:00Z"))
            try await world.settle()
            world.clock.set(moment("2026-05-02T18:30:00Z"))
            try await zoneChanged(world, a, to: "America/Los_Angeles", since: "2026-05-02T17:00:00Z")
            for isWhole in [false, true] {
                let stored = try #require(try await world.service.store.load([streak], isWhole: isWhole).first)
                let state = fold(stored.ledger, .mutual, at: moment("2026-05-03T06:59:59Z"))
                #expect(state.status == .active && state.mark(on: day("2026-05-02")) == .open)
                #expect(fold(stored.ledger, .mutual, at: moment("2026-05-02T18:20:00Z")).status == .broken, "what was known then")
            }
        }
    }

    @Test func `premium that is consumed after midnight keeps the date of a typed streak`() async throws {
        try await withWorld(at: "2026-05-01T12:00:00Z") { world in
            let user = try await world.person(1, zone: "UTC")
            func record() async throws {
                try await world.work.run(trace: "", requestID: "") { work in
                    let streak = try await world.service.writer.solo(.recipeCreation, of: user, work)
                    let command = StreakCommand.contribute(user, receivedAt: work.now, capturedAt: nil)
                    try await world.service.writer.apply(command, to: streak, work)
                }
            }
            for _ in 1...3 {
                try await record()
                world.clock.advance(by: .days(1))
            }
            // The fourth takes the month's free date, the fifth breaks.
            world.clock.set(moment("2026-05-06T00:02:00Z"))
            func settle() async throws -> StreakRow {
                try await world.work.run(trace: "", requestID: "") { work in
                    let ids = try await world.service.store.activeIDs(of: user, kinds: [.recipeCreation], work.sql)
                    let stored = try await world.service.store.lock(ids, work.sql)
                    _ = try await world.service.writer.settle(stored, work)
                    return try #require(try await world.service.store.lock(ids, work.sql).first?.row)
                }
            }
            #expect(try await settle().count == 0)
            let accounts = AccountConsumers(writer: world.service.writer)
            let premium = EntitlementsChanged(
                userID: user,
                version: 1,
                plan: .premium,
                expiresAt: moment("2026-06-06T00:00:00Z"),
                changedAt: moment("2026-05-05T22:00:00Z")
            )
            for _ in 1...2 {
                try await world.consume(premium, by: [EntitlementReplica().handler(changed: accounts.entitlementsChanged)])
            }
            #expect(try await settle().count == 3)
        }
    }
}

/// Settlement does not go on before what is in the streams was consumed.
@Suite struct KnownFactsTests {
    /// A stream and how far it was consumed.
    private final class Stream: Sendable {
        struct State {
            /// nil: the broker does not answer.
            var end: Int? = 5
            var position = 5
        }
        let state = Mutex(State())

        func facts(_ clock: ManualClock, metrics: Metrics = Metrics()) -> KnownFacts {
            KnownFacts(
                ends: {
                    guard let end = self.state.withLock({ $0.end }) else { throw ServiceError.unavailable("away") }
                    return ["EVT_AUTH": end]
                },
                hasConsumed: { ends in self.state.withLock { $0.position } >= ends["EVT_AUTH"] ?? 0 },
                now: { clock.now() },
                logger: testLogger,
                metrics: metrics
            )
        }
    }

    @Test func `facts are known up to the instant at which the stream's end was asked for, once it is reached`() async {
        let (stream, clock) = (Stream(), ManualClock(moment("2026-05-02T18:16:00Z")))
        let facts = stream.facts(clock)
        let first = clock.now()
        #expect(await facts.through(first, atLeast: first) == first)
        stream.state.withLock { $0.end = 9 }
        clock.advance(by: .minutes(5))
        let second = clock.now()
        #expect(await facts.through(second, atLeast: second) == first, "four events are on their way")
        // More come than are consumed: what was there at the question is what counts.
        stream.state.withLock { ($0.end, $0.position) = (20, 9) }
        clock.advance(by: .minutes(5))
        let third = clock.now()
        #expect(await facts.through(third, atLeast: second) == second)
        #expect(await facts.through(third, atLeast: third) == second)
        stream.state.withLock { $0.position = 20 }
        #expect(await facts.through(third, atLeast: third) == third)
    }

    @Test func `a broker that does not answer is waited for`() async {
        let (stream, clock) = (Stream(), ManualClock(moment("2026-05-02T18:16:00Z")))
        let (facts, now) = (stream.facts(clock), clock.now())
        stream.state.withLock { $0.end = nil }
        #expect(await facts.through(now, atLeast: now) < now)
        stream.state.withLock { $0.end = 5 }
        #expect(await facts.through(now, atLeast: now) == now)
    }

    @Test func `the settlement job leaves what is due until the facts are there, then settles it`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (a, b) = (try await world.person(1, zone: "UTC"), try await world.person(2, zone: "UTC"))
            let streak = try await world.befriend(a, b)
            for user in [a, b] { try await world.post(user, to: [streak]) }
            world.clock.set(moment("2026-05-03T00:02:00Z"))
            let stream = Stream()
            stream.state.withLock { $0.position = 4 }
            let job = world.service.settlement(facts: stream.facts(world.clock))
            #expect(try await job.settle(at: world.clock.now()) == 0)
            #expect(try await world.events(StreakBroken.self).isEmpty)
            // However far the clock is moved meanwhile.
            world.clock.advance(by: .days(2))
            #expect(try await job.settle(at: world.clock.now()) == 0)
            stream.state.withLock { $0.position = 5 }
            #expect(try await job.settle(at: world.clock.now()) == 1)
            #expect(try await world.events(StreakBroken.self).count == 1)
        }
    }
}

/// What a snap for all is for: the streaks that were active on the date that it claims (SD-2), never those that are now.
@Suite(.timeLimit(.minutes(5))) struct ClaimedStreakTests {
    private func plan(_ world: World, _ user: UserID, captured: String?) async throws -> PlanContributionReply {
        try await world.service.planContribution(
            PlanContributionRequest(userID: user, receivedAt: world.clock.now(), capturedAt: captured.map { moment($0) }),
            context: World.by(user)
        )
    }

    private func record(_ world: World, _ user: UserID, _ plan: PlanContributionReply, captured: String?) async throws
        -> RecordContributionReply
    {
        let operation: OperationID = UUIDv7Source(clock: SystemClock()).make()
        return try await world.service.recordContribution(
            RecordContributionRequest(
                operationID: operation,
                userID: user,
                streakIDs: plan.outcomes.map(\.streakID),
                receivedAt: world.clock.now(),
                capturedAt: captured.map { moment($0) }
            ),
            context: World.by(user)
        )
    }

    @Test func `a late snap is for the streaks that its date broke, and undoes the break`() async throws {
        try await withWorld(at: "2026-05-01T10:00:00Z") { world in
            let (a, b, c) = (try await world.person(1), try await world.person(2), try await world.person(3))
            let (broken, running) = (try await world.befriend(a, b), try await world.befriend(a, c))
            try await world.post(a, to: [broken, running])
            for user in [b, c] { try await world.post(user, to: [broken, running]) }
            world.clock.set(moment("2026-05-02T10:00:00Z"))
            try await world.post(b, to: [broken])
            // The second ends without A, and with C without both.
            try await world.service.settleAt(world, "2026-05-03T00:00:03Z")
            #expect(try await world.service.store.row(broken)?.status == .broken)
            let captured = "2026-05-02T23:59:50Z"
            let planned = try await plan(world, a, captured: captured)
            #expect(Set(planned.outcomes.map(\.streakID)) == [broken, running] && planned.authorDate == day("2026-05-02"))
            let counted = try await record(world, a, planned, captured: captured)
            #expect(counted.outcomes.allSatisfy { $0.refused == nil && $0.date == day("2026-05-02") })
            #expect(try await world.service.store.row(broken)?.status == .active)
            // What is captured today is not for a streak that was broken yesterday.
            world.clock.set(moment("2026-05-10T12:00:00Z"))
            try await world.settle()
            #expect(try await plan(world, a, captured: "2026-05-10T11:00:00Z").outcomes.isEmpty)
        }
    }

    @Test func `a streak that began after the date is not meant, unless there is no other`() async throws {
        try await withWorld(at: "2026-05-01T10:00:00Z") { world in
            let (a, b, c) = (try await world.person(1), try await world.person(2), try await world.person(3))
            let old = try await world.befriend(a, b)
            world.clock.set(moment("2026-05-02T00:30:00Z"))
            let new = try await world.befriend(a, c)
            #expect(try await plan(world, a, captured: "2026-05-01T23:00:00Z").outcomes.map(\.streakID) == [old])
            #expect(Set(try await plan(world, a, captured: nil).outcomes.map(\.streakID)) == [old, new])
            let only = try await plan(world, c, captured: "2026-05-01T23:00:00Z").outcomes
            #expect(only.map(\.streakID) == [new] && only[0].date == day("2026-05-02"))
        }
    }

    @Test func `a clock that is far off is said to be, and the snap was captured when it was received`() async throws {
        try await withWorld(at: "2026-05-01T10:00:00Z") { world in
            let (a, b) = (try await world.person(1), try await world.person(2))
            _ = try await world.befriend(a, b)
            let planned = try await plan(world, a, captured: "2569-05-01T10:00:00Z")
            let counted = try await record(world, a, planned, captured: "2569-05-01T10:00:00Z")
            #expect(counted.capturedAtIgnored && counted.capturedAt == world.clock.now())
            #expect(counted.outcomes.map(\.date) == [day("2026-05-01")])
            let ahead = try await record(world, b, planned, captured: "2026-05-01T10:14:00Z")
            #expect(!ahead.capturedAtIgnored && ahead.capturedAt == world.clock.now())
        }
    }
}

extension AllStreaks {
    /// Settles at an instant, as a request of that moment would.
    fileprivate func settleAt(_ world: World, _ time: String) async throws {
        world.clock.set(moment(time))
        try await world.work.run(trace: "", requestID: "") { work in
            let due = StreakRepository.dueQuery(.mutual, at: work.now, limit: 100)
            let ids = try await work.sql.query(due).map { try $0.get(at: 0, as: StreakID.self) }
            _ = try await writer.settle(try await store.lock(ids, work.sql), work)
        }
    }
}
