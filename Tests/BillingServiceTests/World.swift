import BillingAPI
import Bus
import Database
import Kernel
import StreaksAPI
import TestSupport
import Wire

@testable import BillingService
@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime

/// `billing` on a database of its own, without a broker: what it emits stays in its outbox.
struct World {
    let database: Database
    let tokens: TokenRepository
    let mutations: Mutations
    let work: UnitOfWorkFactory

    static let streak = StreakID(high: 3, low: 3)

    /// Gives two people a token each, as a streak that reaches a multiple of 30 does.
    func earn(_ one: UserID, _ two: UserID, count: Int32) async throws {
        let event = RecoveryTokenEarned(
            streakID: Self.streak,
            userAID: one,
            userBID: two,
            count: count,
            runStart: CalendarDate(dayNumber: 20_574)
        )
        let handler = TokenEarnedConsumer.handler(tokens)
        try await handle(event, by: handler)
    }

    /// The streak says that the token of an operation was not needed.
    func comesBack(_ operation: OperationID, to user: UserID) async throws {
        let event = RecoveryTokenReturned(
            streakID: Self.streak,
            userID: user,
            operationID: operation,
            date: CalendarDate(dayNumber: 20_577)
        )
        try await handle(event, by: TokenReturnedConsumer.handler(tokens))
    }

    private func handle(_ event: any Event, by handler: EventHandler) async throws {
        let stored = StoredEvent(
            id: EventID(high: 5, low: 5),
            aggregate: event.aggregateID,
            subject: type(of: event).subject,
            trace: "",
            requestID: "test",
            body: try event.serialized()
        )
        try await work.run(trace: "", requestID: "") { work in try await handler.handle(stored, work) }
    }

    func spend(_ operation: OperationID, of user: UserID) async throws -> Int32 {
        try await SpendToken(tokens: tokens, mutations: mutations).handle(
            SpendTokenRequest(operationID: operation, userID: user, streakID: Self.streak),
            Self.context()
        ).reply.balance
    }

    func refund(_ operation: OperationID, to user: UserID) async throws -> Int32 {
        try await RefundToken(tokens: tokens, mutations: mutations).handle(
            RefundTokenRequest(operationID: operation, userID: user),
            Self.context()
        ).reply.balance
    }

    static func context() -> CallContext { CallContext(deadline: SystemClock.now() + .minutes(2)) }

    /// The types of a user's entries, oldest first.
    func entries(of user: UserID) async throws -> [TokenEntryType] {
        try await tokens.entries(of: user, limit: 1_000).reversed().map(\.type)
    }
}

private let template = PostgresTemplate("billing") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + BillingModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

nonisolated(nonsending) func withWorld(_ body: (World) async throws -> Void) async throws {
    try await template.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
        let clock = SystemClock()
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: clock), relay: nil)
        let mutations = Mutations(work: work, database: database)
        let tokens = TokenRepository(database: database)
        try await body(World(database: database, tokens: tokens, mutations: mutations, work: work))
    }
}
