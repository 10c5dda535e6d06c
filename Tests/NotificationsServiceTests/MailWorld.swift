import AuthAPI
import BillingAPI
import Bus
import Database
import Foundation
import Kernel
import NotificationsAPI
import TestSupport
import Testing
import Wire

@testable import NotificationsMail
@testable import Outbox
@testable import OutgoingMail
@testable import Runtime
@testable import ServiceRuntime

/// The feature `mail` on a database of its own, without a broker, by a clock that only tests move.
struct MailWorld {
    /// `auth`, as far as mails need it.
    struct AddressBook: Caller {
        /// What it answers.
        var recipient: Result<MailRecipient, ServiceError> = .failure(.unavailable())

        func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _: Request, context _: CallContext) async throws
            -> Reply
        {
            guard let reply = try recipient.get() as? Reply else { throw ServiceError.internal }
            return reply
        }
    }

    let database: Database
    let mails: MailRepository
    let mutations: Mutations
    let clock: ManualClock
    let ids: any IDSource

    static let user = UserID(high: 7, low: 7)

    static func request(
        to name: String,
        _ kind: MailKind = .verification,
        locale: String = "",
        id: OperationID,
        uselessAfter: Instant? = nil
    ) -> SendMailRequest {
        SendMailRequest(
            operationID: id,
            userID: user,
            address: "\(name)@example.com",
            locale: locale,
            kind: kind,
            values: MailValues(link: "https://example.com/verify/token"),
            uselessAfter: uselessAfter
        )
    }

    /// Asks for a mail as a service does.
    @discardableResult
    func ask(to name: String, locale: String = "", uselessAfter: Instant? = nil) async throws -> OperationID {
        let id: OperationID = ids.make()
        try await ask(Self.request(to: name, locale: locale, id: id, uselessAfter: uselessAfter))
        return id
    }

    func ask(_ request: SendMailRequest) async throws {
        let context = CallContext(deadline: SystemClock.now() + .minutes(2))
        _ = try await SendMail(mutations: mutations, stored: WakeSignal()).handle(request, context)
    }

    /// What one replica does by itself.
    ///
    /// - Parameter auth: knows where mail to users goes.
    func jobs(_ transport: MailTransport?, auth: any Caller = AddressBook()) throws -> MailJobs {
        MailJobs(
            mails: mails,
            stored: WakeSignal(),
            composer: MailComposer(sender: try #require(MailAddress(text: "StreakSnap <no-reply@mail.example.com>"))),
            addresses: EmailClient(auth),
            transport: transport,
            clock: clock,
            ids: ids,
            logger: PostgresServer.silence,
            metrics: Metrics()
        )
    }

    /// As the event's consumer does.
    func consume(_ event: PurchaseCompleted) async throws {
        let factory = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: nil)
        for handler in ReceiptConsumer.all {
            try await factory.run(trace: "", requestID: "") { work in
                let stored = StoredEvent(
                    id: work.ids.make(),
                    aggregate: event.aggregateID,
                    subject: handler.subject,
                    trace: "",
                    requestID: "",
                    body: try event.serialized()
                )
                try await handler.handle(stored, work)
            }
        }
    }

    /// Runs everything that is due now.
    func work(_ jobs: MailJobs) async throws {
        for job in jobs.all { while try await job.run(clock.now()) > 0 {} }
    }

    /// A transport to a server of this machine.
    static func transport(_ server: MailServer, timeout: Interval = .seconds(10)) throws -> MailTransport {
        .server(try OutgoingMail(url: "smtp://127.0.0.1:\(server.port)", timeout: timeout))
    }

    struct Row: Equatable {
        var state: Int32
        var tries: Int32
        var problem: String?
        /// Whether it still holds what is personal.
        var isReadable: Bool
    }

    func row(_ id: OperationID) async throws -> Row {
        let rows = try await database.query(
            "SELECT state, tries, problem, address IS NOT NULL OR content IS NOT NULL FROM mail WHERE id = \(id)"
        )
        let (state, tries, problem, isReadable) = try #require(rows.first).decode(
            as: (Int32.self, Int32.self, String?.self, Bool.self)
        )
        return Row(state: state, tries: tries, problem: problem, isReadable: isReadable)
    }

    /// As if the replica that has leased a mail had died, and its lease were over.
    func endLeases() async throws { _ = try await database.execute("UPDATE mail SET lease_until = '-infinity' WHERE state = 0") }
}

private let template = PostgresTemplate("mail") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + MailFeature.feature.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

nonisolated(nonsending) func withMailWorld(_ body: (MailWorld) async throws -> Void) async throws {
    try await template.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
        let clock = ManualClock(Instant(seconds: 1_800_000_000))
        let ids = UUIDv7Source(clock: clock)
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: nil)
        try await body(
            MailWorld(
                database: database,
                mails: MailRepository(database: database),
                mutations: Mutations(work: work, database: database),
                clock: clock,
                ids: ids
            )
        )
    }
}
