import Glibc
import Kernel
import TestSupport
import Testing

@testable import Database

/// A connection that is lost while a statement is on its way from one place to the next: its caller is answered all the same.
@Suite(.serialized) struct LostConnectionTests {
    private func code(_ task: Task<ResultBox, any Error>) async -> DatabaseError.Code? {
        await DatabaseTests.code { try await task.value }
    }

    /// Hands over a change and a read with no sync behind it, on a connection whose next sync will fail.
    private func batch(
        on hand: HandDrivenReactor,
        dyingWith death: HandDrivenReactor.Death
    ) async throws -> (change: Task<ResultBox, any Error>, read: Task<ResultBox, any Error>) {
        let connection = try hand.connection
        // The change's own sync is the write that fails unnoticed.
        if death == .unnoticed { hand.kill(connection, death) }
        let change = await hand.submit("CREATE TEMP TABLE t (n int)")
        let read = await hand.submit("SELECT 1")
        hand.reactor.dispatch()
        if death == .known { hand.kill(connection, death) }
        #expect(connection.pipeline.jobCount == 2 && connection.pipeline.unsynced == 1)
        return (change, read)
    }

    @Test(arguments: HandDrivenReactor.Death.allCases)
    func `a change that waits while the batch before it cannot be sent goes to the next connection`(
        death: HandDrivenReactor.Death
    ) async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let (first, read) = try await self.batch(on: hand, dyingWith: death)
        let change = await hand.submit("SELECT pg_backend_pid()")
        hand.reactor.dispatch()
        #expect(hand.misplaced() == [])
        try await hand.untilAllAreAnswered()
        #expect(await code(first) == .outcomeUnknown)
        #expect(await code(read) == nil)
        // It was not sent before, so it could be now.
        #expect(await code(change) == nil)
    }

    @Test(arguments: HandDrivenReactor.Death.allCases)
    func `a change that waits while a dropped preparation is freed goes to the next connection`(
        death: HandDrivenReactor.Death
    ) async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared()) { $0.statementCacheSize = 1 }
        try hand.connect()
        for text in ["SELECT 1", "SELECT 2"] {
            let read = await hand.submit(text)
            try await hand.untilAllAreAnswered()
            #expect(await code(read) == nil)
        }
        #expect(try hand.connection.cache.retired.count == 1)
        while try !hand.connection.pipeline.isEmpty { hand.turn(waitingAtMost: 1) }
        hand.kill(try hand.connection, death)
        let change = await hand.submit("SELECT pg_backend_pid()")
        hand.reactor.dispatch()
        #expect(hand.misplaced() == [])
        try await hand.untilAllAreAnswered()
        #expect(await code(change) == (death == .known ? nil : .outcomeUnknown))
    }

    @Test(arguments: HandDrivenReactor.Death.allCases) func `a transaction that is to get a lost connection gets another`(
        death: HandDrivenReactor.Death
    ) async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let (first, read) = try await self.batch(on: hand, dyingWith: death)
        let lease = hand.transaction()
        let statements = [
            await hand.submit("SELECT pg_backend_pid()", on: lease), await hand.submit("SELECT 2", on: lease),
        ]
        hand.reactor.dispatch()
        #expect(hand.misplaced() == [])
        try await hand.untilAllAreAnswered(last: 2)
        for statement in statements { #expect(await code(statement) == nil) }
        let commit = await hand.submit("COMMIT", .commit, on: lease)
        try await hand.untilAllAreAnswered()
        #expect(await code(first) == .outcomeUnknown)
        #expect(await code(read) == nil)
        #expect(await code(commit) == nil)
    }

    @Test func `a commit whose transaction cannot be sent says that nothing was changed`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let lease = hand.transaction()
        let change = await hand.submit("CREATE TEMP TABLE t (n int)", on: lease)
        hand.reactor.dispatch()
        hand.kill(try hand.connection, .known)
        let commit = await hand.submit("COMMIT", .commit, on: lease)
        #expect(hand.misplaced() == [])
        try await hand.untilAllAreAnswered()
        #expect(await code(change) == .connectionLost)
        #expect(await code(commit) == .connectionLost)
    }

    @Test(arguments: HandDrivenReactor.Death.allCases) func `a script whose connection is lost as it starts is answered`(
        death: HandDrivenReactor.Death
    ) async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let session = hand.session()
        let read = await hand.submit("SELECT 1", on: session)
        try await hand.untilAllAreAnswered()
        #expect(await code(read) == nil)
        while try !hand.connection.pipeline.isEmpty { hand.turn(waitingAtMost: 1) }
        hand.kill(try hand.connection, death)
        let script = await hand.submit("CREATE TEMP TABLE t (n int)", .script, on: session)
        #expect(hand.misplaced() == [])
        try await hand.untilAllAreAnswered()
        let outcome = await code(script)
        #expect(outcome == .outcomeUnknown || outcome == .connectionLost)
    }

    @Test func `what is in line behind much else is answered in bounded time`() async throws {
        let server = try await PostgresServer.shared()
        try await server.withDatabase(poolSize: 2) { other in
            try await other.withSession { lock in
                try await lock.execute("SELECT pg_advisory_lock(81550)")
                let hand = try HandDrivenReactor(server)
                try hand.connect()
                let before = await hand.submit("SELECT pg_sleep(0)")
                let stuck = await hand.submit("SELECT pg_advisory_xact_lock(81550)")
                let change = await hand.submit("SELECT pg_backend_pid()")
                let read = await hand.submit("SELECT 2")
                hand.reactor.dispatch()
                hand.reactor.flush()
                hand.pass(.seconds(50))
                // The server goes on answering, so the connection counts as alive all the time.
                while hand.jobs[0].continuation != nil { hand.turn(waitingAtMost: 1) }
                #expect(await code(before) == nil)
                // Ten seconds for the connection, sixty for the statement, six more, and one until the list is looked through.
                hand.pass(.seconds(20))
                #expect(hand.unanswered.count == 3)
                hand.pass(.seconds(10))
                try #require(hand.unanswered.isEmpty)
                #expect(hand.misplaced() == [])
                #expect(await code(stuck) == .outcomeUnknown)
                #expect(await code(change) == .outcomeUnknown)
                #expect(await code(read) == .statementTimeout)
                // The connection is as good as before, and late answers are discarded.
                try await lock.execute("SELECT pg_advisory_unlock(81550)")
                let next = await hand.submit("SELECT 3")
                try await hand.untilAllAreAnswered()
                #expect(await code(next) == nil)
                #expect(hand.reactor.health.connectionsLost == 0)
            }
        }
    }

    @Test func `a transaction that is in line behind much else loses its connection in bounded time`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let lease = hand.transaction()
        let first = await hand.submit("SELECT 1", on: lease)
        try await hand.untilAllAreAnswered()
        let stuck = await hand.submit("SELECT pg_sleep(30)", on: lease)
        hand.turn()
        hand.pass(.seconds(50))
        // Whatever the connection receives meanwhile.
        try hand.connection.lastProgress = hand.reactor.now
        hand.pass(.seconds(30))
        try #require(hand.unanswered.isEmpty)
        #expect(await code(first) == nil)
        #expect(hand.misplaced() == [])
        #expect(await code(stuck) == .connectionLost)
        let commit = await hand.submit("COMMIT", .commit, on: lease)
        #expect(await code(commit) == .connectionLost)
        #expect(hand.reactor.connections.allSatisfy { $0 == nil })
    }

    @Test func `a sync that is never answered costs the connection`() async throws {
        let server = try await PostgresServer.shared()
        let proxy = try server.proxy()
        let hand = try HandDrivenReactor(server) { $0.connectionString = PostgresServer.connectionString(through: proxy) }
        try hand.connect()
        // ReadyForQuery is six bytes: the read is answered, its sync is not.
        await proxy.withhold(lastBytes: 6)
        let read = await hand.submit("SELECT 1")
        try await hand.untilAllAreAnswered()
        #expect(await code(read) == nil)
        #expect(try hand.connection.load == 0 && !hand.connection.pipeline.isEmpty)
        let session = hand.session()
        // It needs the connection to be out of pipeline mode, and so waits for that sync.
        let script = await hand.submit("SELECT 2", .script, on: session)
        hand.turn()
        #expect(hand.misplaced() == [])
        hand.pass(.seconds(70))
        try #require(hand.unanswered.isEmpty)
        #expect(await code(script) == .connectionLost)
        await proxy.withhold(lastBytes: 0)
    }

    /// A write that fails makes libpq read what the server sent before; when it then meets the end, it drops what it was asked and has
    /// no answers for ever, not even errors.
    @Test func `a connection that ends behind answers that were read while writing answers all that was asked`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let answered = await hand.submit("SELECT pg_backend_pid()")
        let change = await hand.submit("SELECT pg_sleep(60)")
        hand.reactor.dispatch()
        hand.reactor.flush()
        let connection = try hand.connection
        var byte: UInt8 = 0
        try await eventually { recv(connection.socket, &byte, 1, Int32(MSG_PEEK)) == 1 }
        hand.kill(connection, .unnoticed)
        // The first write fails unnoticed, the second makes libpq read.
        var reads: [Task<ResultBox, any Error>] = []
        for text in ["SELECT 1", "SELECT 2"] {
            reads.append(await hand.submit(text))
            hand.reactor.dispatch()
            hand.reactor.flush()
        }
        #expect(hand.reactor.health.connectionsLost == 0)
        hand.turn()
        #expect(hand.reactor.health.connectionsLost == 1)
        #expect(hand.misplaced() == [])
        try await hand.untilAllAreAnswered()
        // A change is over only at its sync, which libpq has dropped.
        #expect(await code(answered) == .outcomeUnknown)
        #expect(await code(change) == .outcomeUnknown)
        for read in reads { #expect(await code(read) == nil) }
    }

    @Test func `no job waits for a thread that cannot be started`() async throws {
        let configuration = DatabaseConfiguration(
            connectionString: try await PostgresServer.shared().connectionString,
            schema: "public"
        )
        let reactor = try Reactor(configuration, logger: PostgresServer.silence, observer: nil)
        let refused = await DatabaseTests.code { try await reactor.start { _, _ in false } }
        #expect(refused == .unavailable)
        #expect(await DatabaseTests.code { try await reactor.perform("SELECT 1") } == .stopped)
    }
}
