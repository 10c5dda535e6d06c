import AuthAPI
import BillingAPI
import Bus
import CommonAPI
import Database
import Kernel
import Replicas
import Synchronization
import Testing
import Wire

@testable import Outbox

/// Replicas as the events of other services feed them (D13).
@Suite("A replica fed by events", .timeLimit(.minutes(10)))
struct EventReplicaTests {
    private static let user = UserID(high: 7, low: 7)

    /// A service that does not answer.
    private struct NoService: Caller {
        func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _: Request, context: CallContext) async throws
            -> Reply
        { throw ServiceError.unavailable() }
    }

    /// Lets a handler consume an event, in a transaction as the consumer would.
    private func consume(_ event: some Event, _ handler: EventHandler, _ fixture: Fixture) async throws {
        let stored = StoredEvent(
            id: UUIDv7Source(clock: SystemClock()).make(),
            aggregate: event.aggregateID,
            subject: type(of: event).subject,
            trace: "",
            requestID: "",
            body: try event.serialized()
        )
        try await fixture.work.run(CallContext()) { try await handler.handle(stored, $0) }
    }

    private func isPremium(_ fixture: Fixture, at now: Instant) async throws -> Bool {
        try await fixture.work.run(CallContext()) { try await EntitlementReplica().isPremium(Self.user, now: now, $0.sql) }
    }

    @Test(arguments: 1...10) func `of entitlements keeps the newest version, in whatever order they come`(step: Int) async throws
    {
        try await withFixture { fixture in
            try await Migrator(scope: "entitlement_replica", migrations: EntitlementReplica.migrations).run(on: fixture.database)
            let now = Instant(seconds: 1_800_000_000)
            #expect(try await !isPremium(fixture, at: now), "an unknown user is on the free plan")
            var newest: Int64 = 0
            // 11 is prime: each step visits 1…10 in another order.
            for index in 1...10 {
                let version = Int64(index * step % 11)
                newest = max(newest, version)
                let event = EntitlementsChanged(
                    userID: Self.user,
                    version: version,
                    plan: version.isMultiple(of: 2) ? .premium : .free
                )
                try await consume(event, EntitlementReplica().handler(), fixture)
                #expect(try await isPremium(fixture, at: now) == newest.isMultiple(of: 2), "version \(newest)")
                let kept = try await fixture.database.query("SELECT version FROM entitlement_replica")
                #expect(try kept.map { try $0.decode(as: Int64.self) } == [newest])
            }
        }
    }

    @Test func `of entitlements knows when a plan ends, without an event`() async throws {
        try await withFixture { fixture in
            try await Migrator(scope: "entitlement_replica", migrations: EntitlementReplica.migrations).run(on: fixture.database)
            let end = Instant(seconds: 1_800_000_000)
            let event = EntitlementsChanged(userID: Self.user, version: 1, plan: .premium, expiresAt: end)
            try await consume(event, EntitlementReplica().handler(), fixture)
            #expect(try await isPremium(fixture, at: end - .seconds(1)))
            #expect(try await !isPremium(fixture, at: end))
        }
    }

    @Test(arguments: 1...10) func `of profiles keeps the newest version, and reports newer states only`(step: Int) async throws {
        try await withFixture { fixture in
            try await Migrator(scope: "profile_replica", migrations: ProfileReplica.migrations).run(on: fixture.database)
            let replica = ProfileReplica(database: fixture.database, bus: NoService())
            let stored = Mutex<[String]>([])
            let handler = replica.handler { profile, _ in stored.withLock { $0.append(profile.displayName) } }
            var newest: Int64 = 0
            var news: [String] = []
            for index in 1...10 {
                let version = Int64(index * step % 11)
                if version > newest { news.append("version \(version)") }
                newest = max(newest, version)
                let state = ProfileState(
                    userID: Self.user,
                    version: version,
                    username: "user",
                    displayName: "version \(version)",
                    timeZone: "UTC",
                    status: .active
                )
                try await consume(ProfileChanged(userID: Self.user, profile: state), handler, fixture)
                let known = try await replica.profile(Self.user, context: CallContext())
                #expect(known?.displayName == "version \(newest)")
            }
            #expect(stored.withLock { $0 } == news)
        }
    }

    @Test func `of profiles asks for a user it does not know, and fails when there is no answer`() async throws {
        try await withFixture { fixture in
            try await Migrator(scope: "profile_replica", migrations: ProfileReplica.migrations).run(on: fixture.database)
            let replica = ProfileReplica(database: fixture.database, bus: NoService())
            await #expect(throws: ServiceError.self) { try await replica.profile(Self.user, context: CallContext()) }
            // Inside a handler's transaction auth is not asked: the event comes again.
            let error = await #expect(throws: ServiceError.self) {
                try await fixture.work.run(CallContext()) { try await replica.known([Self.user], $0.sql) }
            }
            #expect(error?.code == .unavailable)
        }
    }
}
