import Bus
import CommonAPI
import Database
import Kernel
import Outbox
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime

private struct Broken: Error, CustomStringConvertible {
    var description: String { "it is broken" }
}

@Suite("What a service answers to administrators", .timeLimit(.minutes(10)))
struct ServiceOperationTests {
    /// Each call has its own two minutes.
    private static var admin: CallContext {
        CallContext(
            deadline: SystemClock.now() + .minutes(2),
            principal: Principal(userID: UserID(high: 9, low: 9), role: .admin)
        )
    }

    /// Serves the operations of a service `tester` with these jobs for the time of `body`.
    private nonisolated(nonsending) func serving(
        _ fixture: Fixture,
        jobs: [Job] = [],
        standings: JobStandings = JobStandings(),
        _ body: () async throws -> Void
    ) async throws {
        let operations = ServiceOperations(
            service: "tester",
            database: fixture.database,
            relay: OutboxRelay(
                database: fixture.database,
                jetStream: JetStream(connection: fixture.bus),
                bus: fixture.bus,
                service: "tester",
                ids: UUIDv7Source(clock: SystemClock()),
                logger: PostgresServer.silence
            ),
            consumers: [],
            jobs: jobs,
            standings: standings,
            logger: PostgresServer.silence
        )
        let service = BusService(
            connection: fixture.bus,
            name: "tester",
            version: "1.0.0",
            endpoints: operations.endpoints,
            logger: PostgresServer.silence
        )
        try await service.start()
        try await body()
        await service.drain()
    }

    private func park(_ fixture: Fixture, _ count: UInt64) async throws {
        for number in 0..<count {
            try await fixture.database.execute(
                """
                INSERT INTO event_retry (event_id, feature, aggregate, subject, trace, request_id, body, attempts, parked_at, last_error)
                VALUES (\(EventID(high: 7, low: number)), 'all', 'one', 'evt.other.v1.Tested', '', '', 'a secret', 10, clock_timestamp(), 'why')
                """
            )
        }
    }

    @Test func `parked events are listed without their bodies and tried again once, for administrators only`() async throws {
        try await withFixture { fixture in
            try await park(fixture, 3)
            try await serving(fixture) {
                let (bus, list) = (fixture.bus, OperationMethods.parkedEvents(of: "tester"))
                let events = try await bus.call(list, ParkedEventsRequest(), context: Self.admin).events
                #expect(events.map(\.eventID) == (0..<3).map { EventID(high: 7, low: $0) })
                let first = try #require(events.first)
                #expect(first.feature == "all" && first.subject == "evt.other.v1.Tested" && first.aggregate == "one")
                #expect(first.attempts == 10 && first.lastError == "why" && first.parkedAt != nil)
                let page = try await bus.call(list, ParkedEventsRequest(limit: 2), context: Self.admin).events
                #expect(page.count == 2 && page[0].position > 0 && page[0].position < page[1].position)
                let rest = ParkedEventsRequest(limit: 2, after: page[1].position)
                #expect(try await bus.call(list, rest, context: Self.admin).events.map(\.eventID) == [EventID(high: 7, low: 2)])

                let redrive = OperationMethods.redriveParkedEvents(of: "tester")
                let one = RedriveParkedEventsRequest(eventID: first.eventID)
                #expect(try await bus.call(redrive, one, context: Self.admin).redriven == 1)
                #expect(try await bus.call(redrive, one, context: Self.admin).redriven == 0, "it is not parked any more")
                let other = RedriveParkedEventsRequest(feature: "other")
                #expect(try await bus.call(redrive, other, context: Self.admin).redriven == 0, "it has parked none")
                let second = RedriveParkedEventsRequest(eventID: events[1].eventID, feature: "all")
                #expect(try await bus.call(redrive, second, context: Self.admin).redriven == 1)
                let feature = RedriveParkedEventsRequest(feature: "all")
                #expect(try await bus.call(redrive, feature, context: Self.admin).redriven == 1)
                try await fixture.database.execute("UPDATE event_retry SET parked_at = clock_timestamp()")
                #expect(try await bus.call(redrive, RedriveParkedEventsRequest(), context: Self.admin).redriven == 3)
                #expect(try await bus.call(list, ParkedEventsRequest(), context: Self.admin).events.isEmpty)

                for role in [Principal.Role.user, .service] {
                    let principal = Principal(userID: UserID(high: 1, low: 1), role: role)
                    let context = CallContext(deadline: SystemClock.now() + .minutes(1), principal: principal)
                    for call in 0..<2 {
                        await #expect(throws: ServiceError.self, "\(role)") {
                            if call == 0 {
                                _ = try await bus.call(list, ParkedEventsRequest(), context: context)
                            } else {
                                _ = try await bus.call(redrive, RedriveParkedEventsRequest(), context: context)
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func `the backlog counts what waits in the outbox and what is parked, and says how jobs fare`() async throws {
        try await withFixture { fixture in
            try await park(fixture, 2)
            try await fixture.database.execute(
                "UPDATE event_retry SET parked_at = NULL WHERE event_id = \(EventID(high: 7, low: 1))"
            )
            let due = Instant(seconds: 1_000)
            let jobs = [
                Job("fails", every: .milliseconds(5), oldestDue: { due }) { _ in throw Broken() },
                Job("works", every: .milliseconds(5)) { _ in 0 },
            ]
            let standings = JobStandings()
            let runner = JobRunner(
                jobs: jobs,
                clock: SystemClock(),
                logger: PostgresServer.silence,
                metrics: Metrics(),
                standings: standings
            )
            let lag = JobLag(
                jobs: jobs,
                clock: SystemClock(),
                logger: PostgresServer.silence,
                metrics: Metrics(),
                standings: standings,
                interval: .milliseconds(5)
            )
            let (running, watching) = (Task { await runner.run() }, Task { await lag.run() })
            try await serving(fixture, jobs: jobs, standings: standings) {
                let method = OperationMethods.backlog(of: "tester")
                var backlog = BacklogReply()
                try await eventually("the jobs have run") {
                    backlog = try await fixture.bus.call(method, Empty(), context: Self.admin)
                    return backlog.jobs.map(\.job) == ["fails", "works"] && backlog.jobs[0].dueSince == due
                        && backlog.jobs[0].lastFailureAt != nil && backlog.jobs[1].lastSuccessAt != nil
                }
                #expect(backlog.jobs[0].lastError == "it is broken" && backlog.jobs[0].lastSuccessAt == nil)
                #expect(backlog.jobs[1].lastError.isEmpty && backlog.jobs[1].lastFailureAt == nil)
                let feature = try #require(backlog.features.first)
                #expect(feature.feature == "all" && feature.pending == nil, "this replica does not run it")
                #expect(feature.parked == 1 && feature.retrying == 1 && feature.heldBack == 1)
                #expect(backlog.unpublished == 0 && backlog.unpublishedSince == nil)
            }
            running.cancel()
            watching.cancel()
            await running.value
            await watching.value
        }
    }
}
