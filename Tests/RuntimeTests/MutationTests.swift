import Bus
import CommonAPI
import Database
import Kernel
import Outbox
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Runtime
@testable import ServiceRuntime

/// A message for tests: its bytes are its text.
struct Note: Message {
    static let fullName = "test.v1.Note"
    var text = ""
    init() {}
    init(_ text: String) { self.text = text }
    init(serialized bytes: UnsafeRawBufferPointer) throws { text = String(decoding: bytes, as: UTF8.self) }
    func serialized() throws -> [UInt8] { Array(text.utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

/// A message with a rule.
struct Strict: Message {
    static let fullName = "test.v1.Strict"
    var text = ""
    init() {}
    init(serialized bytes: UnsafeRawBufferPointer) throws { text = String(decoding: bytes, as: UTF8.self) }
    func serialized() throws -> [UInt8] { Array(text.utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {
        if text != "right" { violations.add("must be right", at: path, "text") }
    }
}

/// A service's database and what writes to it, on an account of its own.
struct Fixture {
    let database: Database
    let bus: BusConnection
    let work: UnitOfWorkFactory
    let mutations: Mutations

    /// Leads to the fixture's database.
    func connectionString() async throws -> String {
        let rows = try await database.query("SELECT current_database()::text")
        return try await PostgresServer.shared().connectionString(database: #require(rows.first).decode(as: String.self))
    }
}

private let template = PostgresTemplate("runtime") { database in
    for (scope, migrations) in [("outbox", OutboxMigrations.all), ("runtime", RuntimeMigrations.all)] {
        try await Migrator(scope: scope, migrations: migrations).run(on: database)
    }
    try await database.execute("CREATE TABLE effects (what text NOT NULL)")
}

nonisolated(nonsending) func withFixture(clock: any Clock = SystemClock(), _ body: (Fixture) async throws -> Void) async throws {
    let bus = try await BusConnection.connect(BusConfiguration(url: NatsServer.account()), logger: PostgresServer.silence)
    try await template.withDatabase(poolSize: 8, adjust: { $0.acquireTimeout = .seconds(30) }) { database in
        let ids = UUIDv7Source(clock: SystemClock())
        let relay = OutboxRelay(
            database: database,
            jetStream: JetStream(connection: bus),
            bus: bus,
            service: "test",
            ids: ids,
            logger: PostgresServer.silence
        )
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: relay)
        try await body(Fixture(database: database, bus: bus, work: work, mutations: Mutations(work: work, database: database)))
    }
    await bus.close()
}

/// As callers do: a request that is being worked on is asked again, each time from the beginning.
func asking<Reply: Sendable>(_ request: @Sendable () async throws -> Reply) async throws -> Reply {
    while true {
        do { return try await request() } catch let error as ServiceError where error.isInProgress {
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// Raised once.
private final class ManualSignal: Sendable {
    private let raised = Atomic(false)
    var isRaised: Bool { raised.load(ordering: .acquiring) }
    func raise() { raised.store(true, ordering: .releasing) }
}

@Suite("A mutation with an idempotency key", .timeLimit(.minutes(10)))
struct MutationTests {
    private func context(_ key: String?, user: UInt64 = 1) -> CallContext {
        CallContext(
            deadline: SystemClock.now() + .minutes(1),
            principal: Principal(userID: UserID(high: 0, low: user), role: .user),
            idempotencyKey: key
        )
    }

    private func change(_ fixture: Fixture, _ context: CallContext, _ text: String, isolation: Isolation = .readCommitted)
        async throws -> Note
    {
        try await fixture.mutations.once(context, Note(text), isolation: isolation) { work in
            _ = try await work.sql.execute("INSERT INTO effects VALUES (\(text))")
            if text == "refused" { throw ServiceError(.failedPrecondition, "NO", "No.") }
            return Note("reply to \(text) at \(work.now.microseconds)")
        }.reply
    }

    private func effects(_ fixture: Fixture) async throws -> Int {
        try await fixture.database.query("SELECT 1 FROM effects").count
    }

    @Test func `has one effect and one reply, however often it comes`() async throws {
        try await withFixture { fixture in
            let first = try await change(fixture, context("k"), "a")
            for _ in 0..<3 { #expect(try await change(fixture, context("k"), "a") == first) }
            #expect(try await effects(fixture) == 1)
            let error = await #expect(throws: ServiceError.self) { _ = try await change(fixture, context("k"), "b") }
            #expect(error?.reason == "IDEMPOTENCY_KEY_REUSED")
            #expect(try await effects(fixture) == 1)
        }
    }

    @Test(arguments: [Isolation.readCommitted, .serializable]) func `has one effect when 64 come at once, at any isolation`(
        isolation: Isolation
    ) async throws {
        try await withFixture { fixture in
            let replies = try await withThrowingTaskGroup(of: Note.self) { tasks in
                for _ in 0..<64 {
                    tasks.addTask { try await asking { try await change(fixture, context("k"), "a", isolation: isolation) } }
                }
                var replies: Set<String> = []
                for try await reply in tasks { replies.insert(reply.text) }
                return replies
            }
            #expect(replies.count == 1)
            #expect(try await effects(fixture) == 1)
        }
    }

    @Test func `gets its answer when it comes as the first ends, which has changed what it would be refused by`() async throws {
        try await withFixture { fixture in
            for round in 1...100 {
                let replies = await simultaneously(16) { _ in
                    try await asking {
                        try await fixture.mutations.once(context("k\(round)"), Note("a")) { work in
                            guard try await work.sql.query("SELECT 1 FROM effects WHERE what = \("\(round)")").isEmpty else {
                                throw ServiceError(.failedPrecondition, "DONE", "Done before.")
                            }
                            try await work.sql.execute("INSERT INTO effects VALUES (\("\(round)"))")
                            return Note("done")
                        }.reply.text
                    }
                }
                let texts = replies.map { reply in
                    do { return try reply.get() } catch { return "\(error)" }
                }
                #expect(Set(texts) == ["done"], "round \(round)")
            }
        }
    }

    @Test func `gets the reply that was completed first, after a failure and when 32 come at once`() async throws {
        try await withFixture { fixture in
            @Sendable func change(_ key: String, _ complete: @escaping @Sendable (Note) async throws -> Note) async throws
                -> String
            {
                try await fixture.mutations.once(context(key), Note("a"), completedBy: complete) { work in
                    _ = try await work.sql.execute("INSERT INTO effects VALUES ('a')")
                    return Note("half")
                }.reply.text
            }
            await #expect(throws: ServiceError.self) { _ = try await change("k") { _ in throw ServiceError.unavailable("away") } }
            #expect(try await effects(fixture) == 1, "the change stands")
            let first = try await change("k") { Note($0.text + " and whole") }
            #expect(first == "half and whole")
            #expect(try await change("k") { _ in Note("asked again") } == first)
            let replies = try await withThrowingTaskGroup(of: String.self) { tasks in
                for number in 0..<32 {
                    tasks.addTask { try await asking { try await change("other") { Note("\($0.text) \(number)") } } }
                }
                return try await tasks.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(replies.count == 1)
            #expect(try await change("other") { _ in Note("asked again") } == replies.first)
            #expect(try await effects(fixture) == 2)
        }
    }

    @Test func `that was refused may be tried again`() async throws {
        try await withFixture { fixture in
            for _ in 0..<2 {
                let error = await #expect(throws: ServiceError.self) { _ = try await change(fixture, context("k"), "refused") }
                #expect(error?.reason == "NO")
            }
            #expect(try await effects(fixture) == 0)
            _ = try await change(fixture, context("k"), "another body")
            #expect(try await effects(fixture) == 1)
        }
    }

    /// A change of which only the request is kept.
    private func again(_ fixture: Fixture, _ text: String, meanwhileToo: Bool = false) async throws -> Note {
        try await fixture.mutations.once(context("k"), Note(text), keeping: .request) { work in
            _ = try await work.sql.execute("INSERT INTO effects VALUES (\(text))")
            if meanwhileToo { _ = try await again(fixture, text) }
            return Note("reply")
        }.reply
    }

    @Test func `of which only the request is kept runs again for a repeat, and for no other request`() async throws {
        try await withFixture { fixture in
            for count in 1...3 {
                let reply = try await again(fixture, "a")
                let effects = try await effects(fixture)
                #expect(reply == Note("reply") && effects == count)
            }
            let other = await #expect(throws: ServiceError.self) { _ = try await again(fixture, "b") }
            #expect(other?.reason == "IDEMPOTENCY_KEY_REUSED")
            #expect(try await fixture.database.query("SELECT 1 FROM stored_reply WHERE reply IS NULL").count == 1)
            // While it is being worked on no other sending of it is.
            let second = await #expect(throws: ServiceError.self) { _ = try await again(fixture, "a", meanwhileToo: true) }
            #expect(second?.reason == "REQUEST_IN_PROGRESS")
            #expect(try await effects(fixture) == 3)
        }
    }

    @Test func `is the caller's own, and without a key it happens each time`() async throws {
        try await withFixture { fixture in
            let first = try await change(fixture, context("k", user: 1), "a")
            #expect(try await change(fixture, context("k", user: 2), "a") != first)
            _ = try await change(fixture, context(nil), "a")
            _ = try await change(fixture, context(nil), "a")
            #expect(try await effects(fixture) == 4)
        }
    }

    @Test func `leaves nothing in the table that can be read, or guessed, without its key`() async throws {
        try await withFixture { fixture in
            _ = try await change(fixture, context("k"), "my password")
            let rows = try await fixture.database.query(
                """
                SELECT position('my password'::bytea IN reply) + position('my password'::bytea IN request_hash),
                    request_hash = sha256('my password'::bytea) FROM stored_reply
                """
            )
            let (position, isPlainHash) = try #require(rows.first).decode(as: (Int32.self, Bool.self))
            #expect(position == 0 && !isPlainHash)
        }
    }

    @Test(arguments: [true, false]) func `expires after 24 hours of the clock, whether it was purged or not`(
        isPurged: Bool
    ) async throws {
        let clock = ManualClock(Instant(seconds: 1_800_000_000))
        try await withFixture(clock: clock) { fixture in
            let first = try await change(fixture, context("k"), "a")
            _ = try await change(fixture, context("another"), "a")
            clock.advance(by: .hours(24) + Interval(microseconds: -1))
            if isPurged { try await fixture.mutations.purge(now: clock.now()) }
            #expect(try await change(fixture, context("k"), "a") == first)
            let error = await #expect(throws: ServiceError.self) { _ = try await change(fixture, context("k"), "b") }
            #expect(error?.reason == "IDEMPOTENCY_KEY_REUSED")
            #expect(try await effects(fixture) == 2)

            clock.advance(by: Interval(microseconds: 1))
            if isPurged {
                try await fixture.mutations.purge(now: clock.now())
                #expect(try await fixture.database.query("SELECT 1 FROM stored_reply").isEmpty)
            }
            let second = try await change(fixture, context("k"), "b")
            #expect(second != first)
            #expect(try await effects(fixture) == 3)
            // The new answer lives 24 hours again.
            clock.advance(by: .hours(23))
            #expect(try await change(fixture, context("k"), "b") == second)
            #expect(try await effects(fixture) == 3)
        }
    }

    @Test func `has one effect when its key has just expired and 32 come at once`() async throws {
        let clock = ManualClock(Instant(seconds: 1_800_000_000))
        try await withFixture(clock: clock) { fixture in
            let old = try await change(fixture, context("k"), "a")
            clock.advance(by: .hours(24))
            let replies = try await withThrowingTaskGroup(of: Note.self) { tasks in
                for _ in 0..<32 { tasks.addTask { try await asking { try await change(fixture, context("k"), "a") } } }
                return try await tasks.reduce(into: Set<String>()) { $0.insert($1.text) }
            }
            #expect(replies.count == 1 && !replies.contains(old.text))
            #expect(try await effects(fixture) == 2)
        }
    }

    @Test func `is refused at once while the first one with its key is being worked on, and then gets its answer`() async throws {
        try await withFixture { fixture in
            let isWorking = ManualSignal()
            let mayEnd = ManualSignal()
            let first = Task {
                try await fixture.mutations.once(context("k"), Note("a")) { work in
                    _ = try await work.sql.execute("INSERT INTO effects VALUES ('a')")
                    isWorking.raise()
                    try await eventually("it may end", within: .seconds(60)) { mayEnd.isRaised }
                    return Note("first")
                }.reply
            }
            try await eventually("the first works") { isWorking.isRaised }
            let error = await #expect(throws: ServiceError.self) { _ = try await change(fixture, context("k"), "a") }
            #expect(error == .requestInProgress)
            _ = try await change(fixture, context("another key"), "b")
            mayEnd.raise()
            #expect(try await first.value == Note("first"))
            #expect(try await change(fixture, context("k"), "a") == Note("first"))
            #expect(try await effects(fixture) == 2)
        }
    }

    @Test(arguments: [Isolation.readCommitted, .serializable]) func `gets the answer that was stored after it had looked for one`(
        isolation: Isolation
    ) async throws {
        try await withFixture { fixture in
            let first = try await change(fixture, context("k"), "a")
            try await fixture.database.execute("CREATE TABLE hidden AS SELECT * FROM stored_reply")
            try await fixture.database.execute("DELETE FROM stored_reply")
            let runs = Atomic(0)
            let again = try await fixture.mutations.once(context("k"), Note("a"), isolation: isolation) { work in
                _ = try await work.sql.execute("INSERT INTO effects VALUES ('b')")
                // As a transaction does that has ended between what this one has read and its lock.
                if runs.add(1, ordering: .relaxed).newValue == 1 {
                    try await fixture.database.execute("INSERT INTO stored_reply SELECT * FROM hidden")
                }
                return Note("another")
            }.reply
            #expect(again == first)
            #expect(runs.load(ordering: .relaxed) == 1, "it is not done again")
            #expect(try await effects(fixture) == 1, "what it has done is rolled back")
        }
    }

    @Test func `with a key of the gateway is known for two minutes`() async throws {
        let clock = ManualClock(Instant(seconds: 1_800_000_000))
        try await withFixture(clock: clock) { fixture in
            var context = context(nil)
            context.makeKey()
            let key = try #require(context.idempotencyKey)
            context.makeKey()
            #expect(context.idempotencyKey == key && key.count == 32, "it has one")
            let first = try await change(fixture, context, "a")
            clock.advance(by: .minutes(2) + Interval(microseconds: -1))
            #expect(try await change(fixture, context, "a") == first)
            clock.advance(by: Interval(microseconds: 1))
            #expect(try await change(fixture, context, "a") != first)
            // No caller makes a service keep a reply for longer than a client's.
            context.idempotencyKey = "long"
            context.keyLifetime = .days(900)
            _ = try await change(fixture, context, "a")
            clock.advance(by: .hours(24))
            try await fixture.mutations.purge(now: clock.now())
            #expect(try await fixture.database.query("SELECT 1 FROM stored_reply").isEmpty)
        }
    }

    @Test func `that breaks a rule of its message stores nothing, and its key stays free`() async throws {
        try await withFixture { fixture in
            let method = Method<Strict, Note>(service: "test", version: "v1", name: "Strict", isIdempotent: false)
            let endpoint = Endpoint(method) { request, context in
                try await fixture.mutations.once(context, request) { work in
                    _ = try await work.sql.execute("INSERT INTO effects VALUES (\(request.text))")
                    return Note("done")
                }.reply
            }
            let error = await #expect(throws: ServiceError.self) {
                _ = try await endpoint.handle(Array("wrong".utf8), context("k"))
            }
            #expect(error?.code == .invalidArgument && error?.details.first?.field == "text")
            #expect(try await fixture.database.query("SELECT 1 FROM stored_reply").isEmpty)
            _ = try await endpoint.handle(Array("right".utf8), context("k"))
            #expect(try await effects(fixture) == 1)
        }
    }
}
