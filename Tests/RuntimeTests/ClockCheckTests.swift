import Database
import Kernel
import Logging
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import ServiceRuntime

@Suite("A machine whose clock is not the database's", .timeLimit(.minutes(10))) struct ClockCheckTests {
    /// A check by a machine whose clock is so far ahead.
    private static func check(
        lead: Interval,
        _ body: (ClockCheck, ManualClock) async throws -> Void
    ) async throws {
        try await PostgresServer.shared().withDatabase { database in
            let machine = ManualClock(SystemClock.now())
            let check = ClockCheck(database: database, logger: PostgresServer.silence, machine: machine)
            // An answer that took long on a busy machine says nothing.
            try await eventually("the database has said what time it is") {
                try await check.ask()
                return check.lead != nil
            }
            machine.set(SystemClock.now() + lead)
            try await body(check, machine)
        }
    }

    @Test(arguments: [Interval.zero, .seconds(40), .seconds(-40), .hours(-48)])
    func `that is less than a minute ahead, or behind, runs jobs`(lead: Interval) async throws {
        try await Self.check(lead: lead) { check, _ in
            let seen = try #require(check.lead)
            #expect(seen > lead - .seconds(10) && seen < lead + .seconds(10))
            #expect(check.isRight)
        }
    }

    @Test(arguments: [Interval.seconds(150), .hours(2), .days(40_000)])
    func `that is further ahead runs none`(lead: Interval) async throws {
        try await Self.check(lead: lead) { check, _ in #expect(!check.isRight) }
    }

    @Test func `that is set ahead later runs none from that moment on, before the database is asked again`() async throws {
        try await Self.check(lead: .zero) { check, machine in
            #expect(check.isRight)
            machine.advance(by: .days(1))
            #expect(!check.isRight)
            machine.set(SystemClock.now())
            #expect(check.isRight)
        }
    }

    @Test func `jobs wait while they may not run, and run soon after`() async throws {
        let mayRun = Atomic(false)
        let asked = Atomic(0)
        let runs = Atomic(0)
        // The interval never ends within the test.
        let job = Job("due", every: .seconds(3600), lanes: 2) { _ in
            runs.add(1, ordering: .relaxed)
            return 0
        }
        let runner = JobRunner(jobs: [job], clock: SystemClock(), logger: PostgresServer.silence, metrics: Metrics()) {
            asked.add(1, ordering: .relaxed)
            return mayRun.load(ordering: .relaxed)
        }
        let running = Task { await runner.run() }
        try await eventually("both lanes have asked") { asked.load(ordering: .relaxed) >= 4 }
        #expect(runs.load(ordering: .relaxed) == 0)
        mayRun.store(true, ordering: .relaxed)
        try await eventually("it runs") { runs.load(ordering: .relaxed) > 0 }
        running.cancel()
        await running.value
    }
}
