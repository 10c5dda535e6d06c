import Bus
import Database
import Kernel
import Synchronization
import TestSupport
import Testing

@testable import Outbox
@testable import Runtime
@testable import ServiceRuntime

/// A replica's mutations, with what it shows the others.
private struct Replica: Sendable {
    let mutations: Mutations
    private let presence: ReplicaPresence
    private let showing: Task<Void, Never>

    /// Another replica of the fixture's service, in this process.
    init(of fixture: Fixture) async throws {
        var configuration = DatabaseConfiguration(
            connectionString: try await fixture.connectionString(),
            schema: fixture.database.schema
        )
        configuration.probeTimeout = .seconds(60)
        let presence = ReplicaPresence(
            configuration,
            ids: UUIDv7Source(clock: SystemClock()),
            logger: PostgresServer.silence,
            mostSilence: .seconds(60)
        )
        self.presence = presence
        showing = Task { await presence.run() }
        mutations = Mutations(work: fixture.work, database: fixture.database, presence: presence)
        try await eventually("it shows itself") { presence.shown != nil }
    }

    /// Waits for a new connection after the end of one.
    func showAgain() async throws {
        let number = Int64.random(in: .min ... .max)
        try await eventually("it shows itself again") { await presence.claim(number) == .taken }
        await presence.release(number)
    }

    /// Its connection ends, as that of a killed process does. What it works on goes on.
    func hide() async {
        showing.cancel()
        await showing.value
    }
}

/// Work that takes long before its transaction.
private final class HeldWork: Sendable {
    private let begun = Atomic(0)
    private let mayEnd = Atomic(false)

    /// How often it was begun.
    var count: Int { begun.load(ordering: .acquiring) }

    func end() { mayEnd.store(true, ordering: .releasing) }

    func run(_ mutations: Mutations, _ context: CallContext) async throws -> String {
        try await mutations.alone(context, Note("a")) {
            begun.add(1, ordering: .acquiringAndReleasing)
            try await eventually("it may end", within: .seconds(60)) { mayEnd.load(ordering: .acquiring) }
            return try await mutations.once(context, Note("a")) { work in
                _ = try await work.sql.execute("INSERT INTO effects VALUES ('a')")
                return Note("reply at \(work.now.microseconds)")
            }
        }.reply.text
    }
}

@Suite("Work that is done alone", .timeLimit(.minutes(40)))
struct AloneTests {
    private static func context(_ key: String? = "k") -> CallContext {
        CallContext(
            deadline: SystemClock.now() + .minutes(1),
            principal: Principal(userID: UserID(high: 0, low: 1), role: .user),
            idempotencyKey: key
        )
    }

    private func withReplicas(_ count: Int, _ body: (Fixture, [Replica]) async throws -> Void) async throws {
        try await withFixture { fixture in
            var replicas: [Replica] = []
            for _ in 0..<count { replicas.append(try await Replica(of: fixture)) }
            try await body(fixture, replicas)
            for replica in replicas { await replica.hide() }
        }
    }

    private func effects(_ fixture: Fixture, _ what: String = "a") async throws -> Int {
        try await fixture.database.query("SELECT 1 FROM effects WHERE what = \(what)").count
    }

    private static let limit = ServiceError(.resourceExhausted, "RATE_LIMITED", "Too many.")

    /// Work that a limit refuses.
    @Sendable private static func refused() async throws -> Once<Note> { throw limit }

    @Test(arguments: [1, 2])
    func `is not begun by a repeat, which is in progress until it gets the answer`(replicas: Int) async throws {
        try await withReplicas(replicas) { fixture, replicas in
            let (one, other) = (replicas[0].mutations, replicas[replicas.count - 1].mutations)
            let work = HeldWork()
            let first = Task { try await work.run(one, Self.context()) }
            try await eventually("it has begun") { work.count == 1 }
            for _ in 0..<3 {
                let error = await #expect(throws: ServiceError.self) {
                    _ = try await other.alone(Self.context(), Note("a"), Self.refused)
                }
                #expect(error == .requestInProgress)
            }
            // Other keys are worked on meanwhile.
            let refusal = await #expect(throws: ServiceError.self) {
                _ = try await other.alone(Self.context("other"), Note("a"), Self.refused)
            }
            #expect(refusal == Self.limit)
            let repeats = Task { try await asking { try await work.run(other, Self.context()) } }
            work.end()
            let reply = try await first.value
            #expect(try await repeats.value == reply)
            #expect(work.count == 1)
            #expect(try await effects(fixture) == 1)
        }
    }

    @Test func `that is refused or cancelled leaves the key free, here and at other replicas`() async throws {
        try await withReplicas(2) { fixture, replicas in
            for replica in replicas {
                let refusal = await #expect(throws: ServiceError.self) {
                    _ = try await replica.mutations.alone(Self.context(), Note("a"), Self.refused)
                }
                #expect(refusal == Self.limit)
                let held = HeldWork()
                let cancelled = Task { try await held.run(replica.mutations, Self.context()) }
                try await eventually("it has begun") { held.count == 1 }
                cancelled.cancel()
                await #expect(throws: (any Error).self) { _ = try await cancelled.value }
            }
            let work = HeldWork()
            work.end()
            _ = try await work.run(replicas[0].mutations, Self.context())
            #expect(work.count == 1)
            #expect(try await effects(fixture) == 1)
        }
    }

    @Test func `is begun by another replica when the first has lost its connection, and still has one effect`() async throws {
        try await withReplicas(2) { fixture, replicas in
            let work = HeldWork()
            let first = Task { try await asking { try await work.run(replicas[0].mutations, Self.context()) } }
            try await eventually("it has begun") { work.count == 1 }
            await replicas[0].hide()
            let second = Task { try await asking { try await work.run(replicas[1].mutations, Self.context()) } }
            try await eventually("the other has begun") { work.count == 2 }
            work.end()
            #expect(try await first.value == second.value)
            #expect(try await effects(fixture) == 1)
        }
    }

    @Test func `is not refused by what another sending has changed`() async throws {
        try await withFixture { fixture in
            // Neither shows its keys to the other.
            let other = Mutations(work: fixture.work, database: fixture.database)
            let reply = try await fixture.mutations.alone(Self.context(), Note("a")) { () async throws -> Once<Note> in
                _ = try await other.once(Self.context(), Note("a")) { _ in Note("made") }
                throw ServiceError(.invalidArgument, "WRONG_PASSWORD", "It has just been changed.")
            }.reply
            #expect(reply == Note("made"))
        }
    }

    @Test func `that has its answer only tidies up, and one in progress does not even that`() async throws {
        try await withFixture { fixture in
            let tidied = Atomic(0)
            let work = HeldWork()
            @Sendable func again(_ text: String = "a") async throws -> String {
                try await fixture.mutations.alone(
                    Self.context(),
                    Note(text),
                    answered: { tidied.add(1, ordering: .relaxed) },
                    Self.refused
                ).reply.text
            }
            let first = Task { try await work.run(fixture.mutations, Self.context()) }
            try await eventually("it has begun") { work.count == 1 }
            let refusal = await #expect(throws: ServiceError.self) { _ = try await again() }
            #expect(refusal == .requestInProgress)
            #expect(tidied.load(ordering: .relaxed) == 0)
            work.end()
            let reply = try await first.value
            #expect(try await again() == reply)
            #expect(tidied.load(ordering: .relaxed) == 1)
            let error = await #expect(throws: ServiceError.self) { _ = try await again("b") }
            #expect(error?.reason == "IDEMPOTENCY_KEY_REUSED")
        }
    }

    @Test func `without a key is done each time`() async throws {
        try await withFixture { fixture in
            let work = HeldWork()
            work.end()
            for _ in 0..<2 { _ = try await work.run(fixture.mutations, Self.context(nil)) }
            #expect(try await effects(fixture) == 2)
        }
    }

    /// Sendings of one key to two replicas, of which some are cancelled or refused at any moment, and whose connections are cut now and then.
    @Test func `whatever becomes of its sendings, a change is made once, and who comes afterwards gets its reply`() async throws {
        try await withReplicas(2) { fixture, replicas in
            var numbers = Seeded(1)
            for round in 0..<TestDepth.pick(quick: 300, full: 20_000) {
                let run = RandomSendings(key: "r\(round)", seed: numbers.next(), isCut: round % 20 == 19)
                let replies = try await run.play(replicas.map(\.mutations), fixture.database, Self.context(run.key))
                let made = try await effects(fixture, run.key)
                #expect(made <= 1 && Set(replies).count <= 1, "round \(round)")
                #expect(replies.isEmpty || made == 1, "round \(round)")
                #expect(run.isCut || run.mostAtOnce <= 1, "round \(round)")
                if run.isCut { for replica in replicas { try await replica.showAgain() } }
                guard made == 1 else { continue }
                let mutations = replicas[round % 2].mutations
                let last = try await asking {
                    try await mutations.alone(Self.context(run.key), Note(run.key), Self.refused).reply.text
                }
                #expect(replies.isEmpty || [last] == Set(replies), "round \(round)")
            }
        }
    }
}

/// Four sendings of one key at about the same time.
private final class RandomSendings: Sendable {
    let key: String
    let isCut: Bool
    private let seed: UInt64
    private let atOnce = Atomic(0)
    private let most = Atomic(0)

    init(key: String, seed: UInt64, isCut: Bool) { (self.key, self.seed, self.isCut) = (key, seed, isCut) }

    /// How many were worked on at once.
    var mostAtOnce: Int { most.load(ordering: .relaxed) }

    /// - Returns: the replies of those that succeeded.
    func play(_ replicas: [Mutations], _ database: Database, _ context: CallContext) async throws -> [String] {
        var numbers = Seeded(seed)
        let tasks = (0..<4).map { number in
            let (seed, mutations) = (numbers.next(), replicas[number % replicas.count])
            return Task { try await asking { try await self.send(to: mutations, context, seed) } }
        }
        for task in tasks where numbers.chance(40) {
            for _ in 0..<Int.random(in: 0...400, using: &numbers) { await Task.yield() }
            task.cancel()
        }
        if isCut {
            _ = try await database.query(
                """
                SELECT pg_terminate_backend(pid, 10000) FROM
                    (SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND database =
                        (SELECT oid FROM pg_database WHERE datname = current_database())) AS held
                """
            )
        }
        var replies: [String] = []
        for task in tasks {
            do { replies.append(try await task.value) } catch is CancellationError {} catch let error as ServiceError {
                #expect(error.reason == "RATE_LIMITED", "\(error)")
            }
        }
        return replies
    }

    private func send(to mutations: Mutations, _ context: CallContext, _ seed: UInt64) async throws -> String {
        var numbers = Seeded(seed)
        for _ in 0..<Int.random(in: 0...200, using: &numbers) { await Task.yield() }
        let (isRefused, pause) = (numbers.chance(25), Int.random(in: 0...300, using: &numbers))
        return try await mutations.alone(context, Note(key)) {
            most.max(atOnce.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
            defer { atOnce.subtract(1, ordering: .relaxed) }
            for _ in 0..<pause { await Task.yield() }
            if isRefused { throw ServiceError(.resourceExhausted, "RATE_LIMITED", "Too many.") }
            return try await mutations.once(context, Note(key)) { work in
                _ = try await work.sql.execute("INSERT INTO effects VALUES (\(self.key))")
                return Note("made at \(work.now.microseconds)")
            }
        }.reply.text
    }
}
