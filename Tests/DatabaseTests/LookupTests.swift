import Kernel
import TestSupport
import Testing

@testable import Database

/// Lookups of one text that wait at the same time are one statement of the server; for their callers nothing changes.
@Suite struct LookupTests {
    private static func listing(_ values: [Int?], _ word: String?) throws -> Job {
        try Job("SELECT n, \(word) FROM unnest(\(values)) AS n ORDER BY n DESC", lease: nil, isLookup: true)
    }

    private static func division(by divisor: Int) throws -> Job { try Job("SELECT 8 / \(divisor)", lease: nil, isLookup: true) }

    /// What a caller got: the numbers, or the code of the error.
    private static func answer(to task: Task<ResultBox, any Error>) async throws -> (numbers: [Int], code: DatabaseError.Code?) {
        do {
            return (try await task.value.rows.map { try $0.decode(as: Int.self) }, nil)
        } catch let error as DatabaseError {
            return ([], error.code)
        }
    }

    @Test func `those that wait together are one statement, and each gets its rows in its order`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let lists: [[Int?]] = [[2, 3, 1], [], [7], [nil, 5], [], [9, 9]]
        var tasks: [Task<ResultBox, any Error>] = []
        for (index, list) in lists.enumerated() {
            tasks.append(await hand.submit(try Self.listing(list, index == 2 ? nil : "list \(index)")))
        }
        hand.reactor.dispatch()
        #expect(try hand.connection.pipeline.jobs.map(\.lookups.count) == [6])
        try await hand.untilAllAreAnswered()
        for (index, task) in tasks.enumerated() {
            let result = try await task.value
            let rows = try result.rows.map { try $0.decode(as: (Int?.self, String?.self)) }
            // PostgreSQL sorts NULL before all others here.
            #expect(rows.map(\.0) == lists[index].sorted { ($0 ?? .max) > ($1 ?? .max) })
            #expect(rows.allSatisfy { $0.1 == (index == 2 ? nil : "list \(index)") })
            #expect(result.columnCount == 2 && result.rowCount == lists[index].count)
        }
    }

    @Test func `one alone, one of another text and what is no lookup are sent as they are`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        var tasks = [await hand.submit(try Self.division(by: 2)), await hand.submit(try Self.listing([1], nil))]
        for _ in 0..<2 { tasks.append(await hand.submit(try Job("SELECT 8 / \(4)", lease: nil))) }
        hand.reactor.dispatch()
        #expect(try hand.connection.pipeline.jobs.map(\.lookups.count) == [0, 0, 0, 0])
        try await hand.untilAllAreAnswered()
        for task in tasks { _ = try await task.value }
    }

    @Test func `at most 32 are one statement`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        var tasks: [Task<ResultBox, any Error>] = []
        for number in 1...40 { tasks.append(await hand.submit(try Self.division(by: number))) }
        hand.reactor.dispatch()
        #expect(try hand.connection.pipeline.jobs.map(\.lookups.count).sorted() == [8, 32])
        try await hand.untilAllAreAnswered()
        for (index, task) in tasks.enumerated() { #expect(try await Self.answer(to: task).numbers == [8 / (index + 1)]) }
    }

    @Test func `one whose value the server refuses fails alone`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        for _ in 0..<2 {
            var tasks: [Task<ResultBox, any Error>] = []
            for divisor in [4, 0, 2] { tasks.append(await hand.submit(try Self.division(by: divisor))) }
            hand.reactor.dispatch()
            // Also the second time: the value was at fault, not the text.
            #expect(try hand.connection.pipeline.jobs.map(\.lookups.count) == [3])
            try await hand.untilAllAreAnswered()
            #expect(try await Self.answer(to: tasks[0]).numbers == [2])
            #expect(try await Self.answer(to: tasks[1]).code == .server)
            #expect(try await Self.answer(to: tasks[2]).numbers == [4])
        }
    }

    @Test func `a text that cannot be part of another is sent by itself from then on`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        // The aggregate would be one of the outer statement, which has no place for it.
        func submit(_ number: Int) async throws -> Task<ResultBox, any Error> {
            await hand.submit(try Job("SELECT max(\(number))", lease: nil, isLookup: true))
        }
        for round in 0..<2 {
            let tasks = [try await submit(3), try await submit(4)]
            hand.reactor.dispatch()
            #expect(try hand.connection.pipeline.jobs.map(\.lookups.count) == (round == 0 ? [2] : [0, 0]))
            try await hand.untilAllAreAnswered()
            #expect(try await Self.answer(to: tasks[0]).numbers == [3])
            #expect(try await Self.answer(to: tasks[1]).numbers == [4])
        }
    }

    @Test func `one that is cancelled ends alone, before it is sent and after`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        var tasks: [Task<ResultBox, any Error>] = []
        for divisor in [1, 2, 4, 8] { tasks.append(await hand.submit(try Self.division(by: divisor))) }
        hand.reactor.obey(.cancel(hand.jobs[1]))
        hand.reactor.dispatch()
        #expect(try hand.connection.pipeline.jobs.map(\.lookups.count) == [3])
        hand.reactor.obey(.cancel(hand.jobs[2]))
        for index in 1...2 { await #expect(throws: CancellationError.self) { _ = try await tasks[index].value } }
        try await hand.untilAllAreAnswered()
        #expect(try await Self.answer(to: tasks[0]).numbers == [8])
        #expect(try await Self.answer(to: tasks[3]).numbers == [1])
    }

    @Test(arguments: HandDrivenReactor.Death.allCases)
    func `those on a connection that dies are answered by another`(_ death: HandDrivenReactor.Death) async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        var tasks: [Task<ResultBox, any Error>] = []
        for divisor in [1, 2, 4] { tasks.append(await hand.submit(try Self.division(by: divisor))) }
        hand.reactor.dispatch()
        hand.kill(try hand.connection, death)
        try await hand.untilAllAreAnswered()
        for (task, number) in zip(tasks, [8, 4, 2]) { #expect(try await Self.answer(to: task).numbers == [number]) }
    }

    @Test func `thousands at the same time each find their own rows, also while their table changes its columns`() async throws {
        try await PostgresServer.shared().withDatabase(adjust: PostgresServer.patient) { database in
            try await database.execute("CREATE TABLE word (id int PRIMARY KEY, lengths int[] NOT NULL, word text NOT NULL)")
            try await database.execute("INSERT INTO word SELECT i, ARRAY[i, i + 1], 'w' || i FROM generate_series(0, 999) AS i")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<4000 {
                    group.addTask { () async throws in
                        let ids = [Int32(number % 1100), Int32(number % 7)]
                        let rows = try await database.lookup(
                            "SELECT w.id, \(number), w.* FROM word w WHERE id = ANY(\(ids)) ORDER BY id DESC LIMIT \(2)"
                        )
                        #expect(rows.count == Set(ids).count { $0 < 1000 })
                        for (row, wanted) in zip(rows, Set(ids).filter { $0 < 1000 }.sorted(by: >)) {
                            let found = try row.decode(as: (Int32.self, Int.self, Int32.self, [Int32].self, String.self))
                            #expect(found == (wanted, number, wanted, [wanted, wanted + 1], "w\(wanted)"))
                        }
                    }
                }
                group.addTask { () async throws in
                    try await database.execute("ALTER TABLE word ALTER COLUMN word TYPE varchar(20)")
                }
                try await group.waitForAll()
            }
            try await eventually { database.health.inFlight == 0 && database.health.waiting == 0 }
        }
    }

    @Test func `a transaction sees its own changes by a lookup`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE word (id int PRIMARY KEY)")
            try await database.transaction { sql in
                try sql.enqueue("INSERT INTO word VALUES (1)")
                #expect(try await sql.lookup("SELECT id FROM word WHERE id = \(Int32(1))").count == 1)
                #expect(try await database.lookup("SELECT id FROM word WHERE id = \(Int32(1))").isEmpty)
            }
            #expect(try await database.lookup(together: ["SELECT id FROM word WHERE id = \(Int32(1))", "SELECT 2"]).count == 2)
        }
    }
}
