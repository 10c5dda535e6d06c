import AuthAPI
import Bus
import Database
import Kernel
import Replicas
import SocialAPI
import Synchronization
import TestSupport
import Testing
import Wire

/// An `auth` that answers with these profiles in this order.
private struct Answering: Caller {
    let people: [ProfileState]

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _: Request, context: CallContext) async throws -> Reply
    {
        guard let reply = GetSummariesReply(profiles: people) as? Reply else { throw ServiceError.internal }
        return reply
    }
}

/// How often a transaction was begun, again too.
private final class Runs: Sendable {
    private let begun = Atomic(0)
    var count: Int { begun.load(ordering: .relaxed) }
    func add() { begun.add(1, ordering: .relaxed) }
}

/// Profiles that come several at a time renew the lists of friends, whose rows others renew as well.
@Suite("Profiles that come together", .timeLimit(.minutes(2)))
struct ProfileOrderTests {
    private static func renamed(_ user: UserID) -> ProfileState {
        ProfileState(
            userID: user,
            version: 2,
            username: "",
            displayName: "new name",
            timeZone: "UTC",
            status: .active
        )
    }

    @Test func `in opposite orders, and with the lists of the same friends, wait for each other in no ring`() async throws {
        try await withWorld { world in
            let people = (1...4).map { world.person($0) }
            let friends = (5...6).map { world.person($0) }
            // Two of each transaction, whose friends are the same two, the other way round.
            for (index, person) in people.enumerated() { try await world.befriend(person, friends[[0, 1, 1, 0][index]]) }
            let runs = Runs()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for batch in [Array(people[...1]), Array(people[2...])] {
                    tasks.addTask { [database = world.database] in try await Self.store(batch, in: database, runs) }
                }
                try await tasks.waitForAll()
            }
            #expect(runs.count == 2, "PostgreSQL ended one of them to break the ring, and it ran again")
            let names = try await world.database.query("SELECT display_name FROM profile_replica WHERE user_id = ANY(\(people))")
            #expect(try names.map { try $0.decode(as: String.self) } == Array(repeating: "new name", count: 4))
        }
    }

    private static func store(_ batch: [UserID], in database: Database, _ runs: Runs) async throws {
        let replica = ProfileReplica(database: database, bus: Answering(people: batch.map(renamed))) { state, _ in
            guard state.userID == batch[0] else { return }
            runs.add()
            // Both have begun; or one of them waits for the other already.
            while runs.count < 2, try await isNoneWaiting(database) {}
        }
        // An unknown user, so that auth is asked.
        _ = try await replica.profiles([UserID(high: 8, low: batch[0].low)], context: CallContext())
    }

    private static func isNoneWaiting(_ database: Database) async throws -> Bool {
        try await database.query(
            """
            SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid)
            WHERE NOT l.granted AND a.query LIKE '%profile_replica AS known%' AND a.datname = current_database()
            """
        ).isEmpty
    }

    @Test func `are stored each in its newest version, whatever their order and however often one comes`() async throws {
        try await withWorld { world in
            let people = (1...5).map { world.person($0) }
            let stored = Mutex<[String]>([])
            var states: [ProfileState] = []
            for (index, person) in people.enumerated() {
                for version in [2, 5, 3] {
                    var state = Self.renamed(person)
                    state.version = Int64(version)
                    state.displayName = "\(index) \(version)"
                    states.append(state)
                }
            }
            var random = Seeded(7)
            states.shuffle(using: &random)
            let replica = ProfileReplica(database: world.database, bus: Answering(people: states)) { state, _ in
                stored.withLock { $0.append(state.displayName) }
            }
            _ = try await replica.profiles([people[0]], context: CallContext())
            #expect(stored.withLock { $0 } == (0..<5).map { "\($0) 5" })
            _ = try await replica.profiles([UserID(high: 8, low: 8)], context: CallContext())
            #expect(stored.withLock { $0.count } == 5, "the same again is no news")
        }
    }
}
