import AuthAPI
import Bus
import Database
import Kernel
import NotificationsAPI
import NotificationsDomain
import SocialAPI
import StreaksAPI
import TestSupport
import Testing
import Wire

@testable import NotificationsCore
@testable import NotificationsLog
@testable import NotificationsPush
@testable import NotificationsService
@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime

/// `notifications` on a database of its own, with a stand-in for the push service. No other service answers.
struct World: Sendable {
    let environment: ServiceEnvironment
    let clock: ManualClock
    let expo: ExpoServer
    let core: NotificationsCore
    let parts: [FeatureParts]

    var database: Database { environment.database }
    var mutations: Mutations { environment.mutations }

    static let streak = StreakID(high: 3, low: 3)

    /// A user whose profile `auth` has emitted.
    @discardableResult
    func person(_ number: UInt64, name: String? = nil, zone: String = "UTC", status: AccountStatus = .active, version: Int64 = 1)
        async throws -> UserID
    {
        let id = UserID(high: 1, low: number)
        let state = ProfileState(
            userID: id,
            version: version,
            username: "person\(number)",
            displayName: name ?? "Person \(number)",
            timeZone: zone,
            status: status,
            timeZoneSince: clock.now()
        )
        try await consume(ProfileChanged(userID: id, profile: state))
        return id
    }

    /// What an event of another service does.
    func consume(_ event: any Event) async throws {
        let body = try event.serialized()
        for handler in parts.flatMap(\.consumers) where handler.subject == type(of: event).subject {
            try await environment.work.run(trace: "", requestID: "") { work in
                let stored = StoredEvent(
                    id: work.ids.make(),
                    aggregate: event.aggregateID,
                    subject: handler.subject,
                    trace: "",
                    requestID: "",
                    body: body
                )
                try await handler.handle(stored, work)
            }
        }
    }

    /// What these events do when they come at once: one transaction for those that a feature takes together.
    func consumeTogether(_ events: [any Event]) async throws {
        let work = environment.work
        for part in parts {
            var pass: [WaitingEvent] = []
            for (place, event) in events.enumerated() {
                let subject = type(of: event).subject
                for handler in part.consumers where handler.subject == subject {
                    let stored = StoredEvent(
                        id: environment.ids.make(),
                        aggregate: event.aggregateID,
                        subject: subject,
                        trace: "",
                        requestID: "",
                        body: try event.serialized()
                    )
                    pass.append(WaitingEvent(sequence: place, event: stored, handler: handler))
                }
            }
            for run in EventRun.divide(pass) {
                try await work.run(trace: "", requestID: "") { work in
                    guard let apply = run.together else {
                        for waiting in run.events { try await waiting.handler.handle(waiting.event, work) }
                        return
                    }
                    let items = try run.events.flatMap { try $0.handler.batch?.items($0.event, work.now) ?? [] }
                    if !items.isEmpty { try await apply(items, work) }
                }
            }
        }
    }

    /// A friend posts in the streak of the two, on the date of UTC.
    func posted(_ author: UserID, for reader: UserID, count: Int32 = 5, in streak: StreakID = streak) async throws {
        try await consume(
            SnapCounted(
                streakID: streak,
                userID: author,
                friendID: reader,
                date: Zone.utc.date(at: clock.now()),
                currentCount: count,
                countedAt: clock.now()
            )
        )
    }

    /// The reader's day ends in 3 hours, with a streak at risk.
    func atRisk(_ reader: UserID, with friend: UserID, count: Int32 = 12) async throws {
        let end = clock.now() + .hours(3)
        let streak = StreakAtRisk(streakID: Self.streak, friendID: friend, currentCount: count, deadlineAt: end)
        try await consume(
            StreaksAtRisk(userID: reader, date: Zone.utc.date(at: clock.now()), dayEndsAt: end, streaks: [streak])
        )
    }

    func request(_ from: UserID, _ to: UserID, _ number: UInt64 = 7) async throws {
        try await consume(
            FriendRequestSent(
                friendshipID: FriendshipID(high: 7, low: number),
                fromUserID: from,
                toUserID: to,
                sentAt: clock.now()
            )
        )
    }

    static func by(_ user: UserID, session: SessionID? = nil) -> CallContext {
        CallContext(
            deadline: SystemClock.now() + .minutes(2),
            principal: Principal(userID: user, role: .user, sessionID: session)
        )
    }

    static func token(_ name: String) -> String { "ExponentPushToken[\(name)]" }

    /// Registers a device, by default of a session that is not known.
    @discardableResult
    func device(_ user: UserID, _ name: String, locale: String = "en", session: SessionID? = nil) async throws -> Int32 {
        try await RegisterDevice(mutations: mutations).handle(
            RegisterDeviceRequest(pushToken: Self.token(name), platform: .ios, appVersion: "1.0", locale: locale),
            Self.by(user, session: session)
        ).reply.devices
    }

    @discardableResult
    func update(_ user: UserID, _ change: UpdatePreferencesRequest) async throws -> Preferences {
        try await UpdatePreferences(mutations: mutations).handle(change, Self.by(user)).reply
    }

    func list(_ user: UserID, _ request: ListRequest = ListRequest()) async throws -> ListReply {
        let views = EntryViews(core: core, social: FriendsClient(environment.bus))
        var context = Self.by(user)
        context.deadline = SystemClock.now() + .seconds(5)
        return try await List(log: core.log, views: views).handle(request, context)
    }

    func markRead(_ user: UserID, _ request: MarkReadRequest) async throws -> MarkReadReply {
        try await MarkRead(log: core.log, live: core.live, mutations: mutations).handle(request, Self.by(user)).reply
    }

    func markRead(_ user: UserID, one id: NotificationID) async throws -> MarkReadReply {
        let handler = MarkOneRead(log: core.log, live: core.live, mutations: mutations)
        return try await handler.handle(MarkOneReadRequest(notificationID: id), Self.by(user)).reply
    }

    /// Runs a job until it finds nothing more to do.
    func run(_ name: String) async throws {
        let jobs = parts.flatMap(\.jobs).filter { $0.name == name }
        #expect(jobs.count == 1, "\(name)")
        for job in jobs {
            while try await job.run(clock.now()) > 0 {}
        }
    }

    /// Hands over what is due, when the seconds over which reminders are spread have passed.
    func push() async throws {
        clock.advance(by: .seconds(60))
        try await run("pushes")
    }

    /// How many pushes are in each state, as `sent 2`.
    func states() async throws -> [String] {
        let rows = try await database.query("SELECT state, count(*)::int FROM delivery GROUP BY state ORDER BY state")
        return try rows.map { row in
            let (state, count) = try row.decode(as: (Int16.self, Int32.self))
            return "\(DeliveryState(rawValue: state).map { "\($0)" } ?? "?") \(count)"
        }
    }

    /// Why pushes failed or expired.
    func reasons() async throws -> [String] {
        try await database.query("SELECT reason FROM delivery WHERE reason IS NOT NULL ORDER BY reason").map {
            try $0.decode(as: String.self)
        }
    }
}

private let template = PostgresTemplate("notifications") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + NotificationsModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

/// Noon in UTC, 2026-05-04.
let noon = Instant(seconds: 1_777_896_000)

nonisolated(nonsending) func withWorld(
    at start: Instant = noon,
    settings: [String: String] = [:],
    observer: (any DatabaseObserver)? = nil,
    _ body: (World) async throws -> Void
) async throws {
    let expo = try await ExpoServer.start()
    let bus = try await BusConnection.connect(BusConfiguration(url: NatsServer.account()), logger: PostgresServer.silence)
    try await template.withDatabase(poolSize: 8, observer: observer, adjust: PostgresServer.patient) { database in
        let clock = ManualClock(start)
        let ids = UUIDv7Source(clock: SystemClock())
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: nil)
        let given = ["notifications.push-url": expo.url, "media.public-url": "https://api.example.com"]
        let environment = ServiceEnvironment(
            settings: Settings(values: given.merging(settings) { $1 }, declared: NotificationsModule.settings),
            features: Set(NotificationsModule.features.map(\.name)),
            clock: clock,
            ids: ids,
            database: database,
            bus: bus,
            work: work,
            mutations: Mutations(work: work, database: database),
            logger: PostgresServer.silence,
            metrics: Metrics()
        )
        var parts: [FeatureParts] = []
        for feature in NotificationsModule.features { parts.append(try await feature.assemble(environment)) }
        try await body(
            World(
                environment: environment,
                clock: clock,
                expo: expo,
                core: try await NotificationsCore(environment),
                parts: parts
            )
        )
    }
    await bus.close()
}
