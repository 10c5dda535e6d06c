import Kernel
import TestSupport
import Testing

@testable import Database

/// A network that resets connections in the midst of everything: each caller learns what became of its work, none waits for ever.
@Suite(.timeLimit(.minutes(10))) struct ResetTests {
    @Test(.serialized, arguments: [1, 4]) func `every job is answered however often connections are reset`(poolSize: Int)
        async throws
    {
        let server = try await PostgresServer.shared()
        let proxy = try server.proxy()
        try await server.withDatabase(poolSize: poolSize) {
            $0.connectionString = PostgresServer.connectionString(through: proxy)
            $0.acquireTimeout = .seconds(2)
            // The server ends what takes longer, and that is no lost connection.
            $0.statementTimeout = .seconds(20)
            $0.maximumReconnectDelay = .milliseconds(100)
        } _: { database in
            try await database.execute("CREATE TABLE single (id bigint PRIMARY KEY)")
            try await database.execute("CREATE TABLE pair (id bigint PRIMARY KEY, half int)")
            let ledger = Ledger()
            let crew = Crew(32)
            let ended = try await endedTransaction(database)
            // Never cancelled: a cancellation would end what the loop has lost.
            for writer in 0..<32 {
                Task {
                    var number = writer * 1_000_000
                    while await !crew.isOver {
                        number += 1
                        await ledger.write(number, Ledger.Kind.allCases[writer % Ledger.Kind.allCases.count], to: database)
                        _ = try? await database.query("SELECT id FROM single WHERE id = \(number)")
                    }
                    await crew.leave()
                }
            }
            var random = Seeded(UInt64(poolSize))
            for round in 0..<40 {
                // While no connection is up everything is answered at once, that it is not.
                let next = await ledger.acknowledged.count + Int.random(in: 1...30, using: &random)
                try await eventually(within: .seconds(60)) { await ledger.acknowledged.count >= next }
                await reset(proxy, whileBusyWith: ended, round)
            }
            await crew.end()
            try await eventually(within: .seconds(60)) { await crew.running == 0 }
            try #require(await crew.running == 0, "callers wait for ever")
            // Two seconds for the connection, twenty for the statement, seven more, and what a machine busy with other tests takes for the writers.
            #expect(await ledger.longestSingle < .seconds(60))
            try await expectTruth(of: ledger, in: database)
            #expect(database.health.connectionsLost > 20)
        }
    }

    /// A transaction that is over: the loop refuses its statements, but looks through their text before.
    private func endedTransaction(_ database: Database) async throws -> Transaction {
        try await database.transaction { sql in
            try await sql.execute("SELECT 1")
            return sql
        }
    }

    /// Resets all connections while the loop is busy for some milliseconds: much has come together when it goes on to send.
    private func reset(_ proxy: TCPProxy, whileBusyWith ended: Transaction, _ round: Int) async {
        let words = String(repeating: "x ", count: 5000)
        let busy = Task {
            for number in 0..<4 { _ = try? await ended.query(Query(stringLiteral: "SELECT \(round) \(number) /* \(words) */")) }
        }
        _ = try? await ended.query(Query(stringLiteral: "SELECT \(round) /* \(words) */"))
        await proxy.reset()
        await busy.value
    }

    /// What was acknowledged is there; what is there beyond that was reported as unknown.
    private func expectTruth(of ledger: Ledger, in database: Database) async throws {
        try await eventually { database.health.connections > 0 }
        let stored = Set(
            try await database.query("SELECT id FROM single UNION ALL SELECT id FROM pair WHERE half = 2").map {
                try $0.decode(as: Int.self)
            }
        )
        let (acknowledged, unknown, failed) = await (ledger.acknowledged, ledger.unknown, ledger.failed)
        #expect(acknowledged.isSubset(of: stored))
        #expect(stored.subtracting(acknowledged).isSubset(of: unknown))
        #expect(failed.isDisjoint(with: stored))
        #expect(await ledger.surprises == [])
    }

    @Test func `a cancellation that does not get through costs the connection not its holder`() async throws {
        let server = try await PostgresServer.shared()
        let proxy = try server.proxy()
        try await server.withDatabase(poolSize: 2) { other in
            try await server.withDatabase(poolSize: 1) {
                $0.connectionString = PostgresServer.connectionString(through: proxy)
                $0.connectTimeout = .seconds(2)
                PostgresServer.patient(&$0)
            } _: { database in
                try await database.withSession { (session) async throws in
                    let held = Task {
                        try await other.withSession { lock in
                            try await lock.execute("SELECT pg_advisory_lock(81549)")
                            let stuck = Task { try await session.query("SELECT 7 FROM pg_advisory_lock(81549)").count }
                            try await eventually { try await waiters(lock) == 1 }
                            // The cancellation is a connection of its own, and gets no answer.
                            await proxy.holdNewConnections(true)
                            stuck.cancel()
                            try await eventually { await proxy.heldConnections == 1 }
                            // It ends by itself, but the cancellation may still come and hit what follows.
                            try await lock.execute("SELECT pg_advisory_unlock(81549)")
                            return await code { try await stuck.value }
                        }
                    }
                    let outcome = try await held.value
                    #expect(outcome == nil || outcome == .outcomeUnknown)
                    #expect(await code { try await session.query("SELECT 8") } == .connectionLost)
                    await proxy.holdNewConnections(false)
                }
                #expect(try await database.value("SELECT 9", as: Int.self) == 9)
            }
        }
    }

    private func waiters(_ executor: some QueryExecutor) async throws -> Int {
        try await executor.value(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 81549",
            as: Int.self
        )
    }
}

/// Tasks that go on until they are asked to end.
private actor Crew {
    private(set) var isOver = false
    private(set) var running: Int

    init(_ count: Int) { running = count }

    func end() { isOver = true }

    func leave() { running -= 1 }
}
