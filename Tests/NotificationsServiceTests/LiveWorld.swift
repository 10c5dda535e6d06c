import Bus
import CommonAPI
import Database
import Kernel
import Outbox
import Synchronization
import TestSupport

@testable import NotificationsCore
@testable import NotificationsLive
@testable import Runtime
@testable import ServiceRuntime

/// The feature `live` on a database and an account of its own.
struct LiveWorld {
    let database: Database
    let bus: BusConnection
    let work: UnitOfWorkFactory
    let live: LiveEvents
    let events: LiveEventRepository

    var watch: Watch { Watch(database: database) }
    var renewal: RenewWatches { RenewWatches(leases: LeaseRepository(database: database)) }

    static func user(_ number: UInt64) -> UserID { UserID(high: 1, low: number) }
    static func lease(_ number: UInt64) -> LeaseID { LeaseID(high: 2, low: number) }

    /// Appends this many events to a user's stream, each in a transaction of its own.
    func append(_ count: Int, to user: UserID) async throws {
        for number in 0..<count {
            try await work.run(trace: "", requestID: "") { work in
                try await live.append([.unreadCount(of: user, Int32(number))], work)
            }
        }
    }

    /// What the service gives a gateway that opens a stream, or asks what it has missed.
    func open(_ lease: UInt64, of user: UserID, after id: String = "") async throws -> StreamPage {
        let context = CallContext(
            deadline: SystemClock.now() + .minutes(2),
            principal: Principal(userID: user, role: .user, sessionID: nil)
        )
        return try await watch.handle(StreamRequest(lastEventID: id, leaseID: Self.lease(lease)), context)
    }

    func renew(_ leases: [UInt64], ending ended: [UInt64] = []) async throws -> [LeaseID?: Int64] {
        let request = RenewStreamsRequest(leaseIDs: leases.map(Self.lease), endedLeaseIDs: ended.map(Self.lease))
        let reply = try await renewal.handle(request, CallContext())
        return Dictionary(uniqueKeysWithValues: reply.streams.map { ($0.leaseID, $0.lastID) })
    }

    /// The code that `body` is refused with; nil when it is not.
    func refusal(_ body: () async throws -> some Any) async throws -> String? {
        do {
            _ = try await body()
            return nil
        } catch let error as ServiceError { return error.reason }
    }
}

/// The events that the bus has carried.
final class Arrivals: Sendable {
    private let pages = Mutex<[StreamPage]>([])

    func take(_ message: BusMessage) {
        guard let page = try? StreamPage(serialized: message.body) else { return }
        pages.withLock { $0.append(page) }
    }

    var ids: [Int64] { pages.withLock { $0.flatMap { $0.events.map(\.id) } } }
    var names: Set<String> { pages.withLock { Set($0.flatMap { $0.events.map(\.name) }) } }
}

private let template = PostgresTemplate("live") { database in
    let sets = [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
    for set in sets + CoreFeature.feature.migrations + LiveFeature.feature.migrations {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

nonisolated(nonsending) func withLiveWorld(_ body: (LiveWorld) async throws -> Void) async throws {
    let bus = try await BusConnection.connect(BusConfiguration(url: NatsServer.account()), logger: PostgresServer.silence)
    try await template.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
        let clock = SystemClock()
        let events = LiveEventRepository(database: database)
        try await body(
            LiveWorld(
                database: database,
                bus: bus,
                work: UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: clock), relay: nil),
                live: LiveEvents(publisher: LivePublisher(events: events, bus: bus, logger: PostgresServer.silence)),
                events: events
            )
        )
    }
    await bus.close()
}
