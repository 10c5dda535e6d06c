import AuthAPI
import BillingAPI
import Bus
import Database
import Kernel
import Replicas
import Logging
import SocialAPI
import StreaksAPI
import TestSupport
import Testing
import Wire

@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksReminders
@testable import StreaksService

/// No service answers: what `streaks` must know of users it has consumed before.
struct NoServices: Caller {
    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _: Request, context _: CallContext) async throws
        -> Reply
    {
        throw ServiceError.unavailable()
    }
}

/// `streaks` on a database of its own.
struct World {
    let database: Database
    let clock: ManualClock
    let work: UnitOfWorkFactory
    let mutations: Mutations
    let service: AllStreaks

    /// The same service with another rule for late snaps.
    func service(_ rule: SnapWindowRule) -> AllStreaks {
        AllStreaks(
            database: database,
            bus: NoServices(),
            mutations: mutations,
            snapWindow: rule,
            clock: clock,
            logger: testLogger
        )
    }

    /// A user whose profile `auth` has emitted.
    @discardableResult
    func person(_ number: UInt64, zone: String = "UTC", hour: Int32? = nil, version: Int64 = 1) async throws -> UserID {
        let id = UserID(high: 1, low: number)
        let state = ProfileState(
            userID: id,
            version: version,
            username: "person\(number)",
            displayName: "Person \(number)",
            timeZone: zone,
            status: .active,
            timeZoneSince: clock.now(),
            windowStartHour: hour
        )
        try await consume(ProfileChanged(userID: id, profile: state))
        return id
    }

    /// What an event of another service does.
    func consume(_ event: any Event, by handlers: [EventHandler]? = nil) async throws {
        try await work.consume(event, by: handlers ?? service.consumers)
    }

    func premium(_ user: UserID, _ isPremium: Bool = true, version: Int64 = 1) async throws {
        try await consume(
            EntitlementsChanged(userID: user, version: version, plan: isPremium ? .premium : .free, expiresAt: nil)
        )
    }

    static func friendship(_ one: UserID, _ two: UserID) -> FriendshipID {
        FriendshipID(high: min(one, two).low, low: max(one, two).low)
    }

    /// A streak of two users that begins now.
    @discardableResult
    func befriend(_ one: UserID, _ two: UserID) async throws -> StreakID {
        let request = StartForFriendshipRequest(
            friendshipID: Self.friendship(one, two),
            userAID: one,
            userBID: two
        )
        let reply = try await service.startForFriendship(request, context: Self.by(one))
        return try #require(reply.streakID, "\(reply)")
    }

    static func by(_ user: UserID) -> CallContext {
        CallContext(deadline: SystemClock.now() + .minutes(2), principal: Principal(userID: user, role: .user))
    }

    @discardableResult
    func post(_ user: UserID, to streaks: [StreakID], _ service: AllStreaks? = nil) async throws -> RecordContributionReply {
        let operation: OperationID = UUIDv7Source(clock: SystemClock()).make()
        return try await (service ?? self.service).recordContribution(
            RecordContributionRequest(
                operationID: operation,
                userID: user,
                streakIDs: streaks,
                receivedAt: clock.now()
            ),
            context: Self.by(user)
        )
    }

    /// Runs the jobs until nothing is due.
    func settle() async throws {
        for job in [service.settlement().job, service.totals.job, service.reminders.job] {
            while try await job.run(clock.now()) > 0 {}
        }
    }

    /// When the next reminder of a user may be due.
    func nextAt(_ user: UserID) async throws -> Instant? {
        try await database.query("SELECT next_at FROM reminder_schedule WHERE user_id = \(user)").first?.decode(as: Instant?.self)
    }

    /// Lets time pass, stopping whenever a user is due.
    func live(until end: Instant) async throws {
        while true {
            try await settle()
            let next = try await ReminderRepository.oldestDue(database)
            guard let next, next < end else { break }
            clock.set(max(next, clock.now()))
        }
        clock.set(end)
        try await settle()
    }

    /// The events of one kind emitted so far, in order.
    func events<E: Event>(_: E.Type) async throws -> [E] {
        try await database.query("SELECT body FROM outbox WHERE subject = \(E.subject) ORDER BY position")
            .map { try E(serialized: try $0.decode(as: [UInt8].self)) }
    }
}

let testLogger = Logger(label: "streaks-test")

func moment(_ text: String) -> Instant { Instant(rfc3339: text) ?? .epoch }
func day(_ text: String) -> CalendarDate { CalendarDate(text) ?? CalendarDate(dayNumber: 0) }

let template = PostgresTemplate("streaks") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + StreaksModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

/// - Parameter start: what the clock shows at first.
nonisolated(nonsending) func withWorld(at start: String, _ body: (World) async throws -> Void) async throws {
    try await template.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
        let clock = ManualClock(moment(start))
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
        let mutations = Mutations(work: work, database: database)
        let service = AllStreaks(
            database: database,
            bus: NoServices(),
            mutations: mutations,
            snapWindow: .label,
            clock: clock,
            logger: testLogger
        )
        try await body(World(database: database, clock: clock, work: work, mutations: mutations, service: service))
    }
}
