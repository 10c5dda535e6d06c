import TestSupport

@testable import Database

/// What a body refuses with.
struct Refused: Error {}

/// Counters by owner, and transactions of which the next that wait run as one.
struct SharedWorld: Sendable {
    let database: Database
    let shared: SharedTransactions

    /// Runs `count` transactions as one group, and returns how each has ended, in their order.
    func together<Value: Sendable>(
        _ count: Int,
        owner: @Sendable (Int) -> String = { "owner \($0)" },
        whenWaiting: ([Task<Value, any Error>]) async throws -> Void = { _ in },
        _ body: @escaping @Sendable (Int, Transaction) async throws -> Value
    ) async throws -> [Result<Value, any Error>] {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let blocker = Task { [shared] in
            try await shared.transaction(of: "blocker") { _ in for await _ in gate { break } }
        }
        try await Self.soon { shared.isBusy }
        let tasks = (0..<count).map { place in
            let owner = owner(place)
            return Task { [shared] in try await shared.transaction(of: owner) { try await body(place, $0) } }
        }
        try await Self.soon { shared.waiting == count }
        try await whenWaiting(tasks)
        open.yield()
        try await blocker.value
        var results: [Result<Value, any Error>] = []
        for task in tasks { results.append(await task.result) }
        return results
    }

    /// Waits for what needs no more than a turn of the tasks.
    private static func soon(_ condition: () -> Bool) async throws {
        for _ in 0..<1_000 where !condition() { await Task.yield() }
        try await eventually { condition() }
    }

    func counts() async throws -> [Int] {
        try await database.query("SELECT n FROM counter ORDER BY id").map { try $0.decode(as: Int.self) }
    }
}

/// So many counters at 0, and an empty table of entries.
func withCounters(_ count: Int, _ body: (SharedWorld) async throws -> Void) async throws {
    try await PostgresServer.shared().withDatabase { database in
        try await database.execute("CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL DEFAULT 0 CHECK (n < 1000))")
        try await database.execute("CREATE TABLE entry (id int, place int, PRIMARY KEY (id, place))")
        try await database.execute("INSERT INTO counter (id) SELECT * FROM generate_series(0, \(count - 1))")
        try await body(SharedWorld(database: database, shared: SharedTransactions(database, most: 16, atOnce: 1)))
    }
}
