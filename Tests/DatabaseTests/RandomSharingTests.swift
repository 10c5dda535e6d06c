import TestSupport
import Testing

@testable import Database

/// Random transactions that share: what they leave is what they would leave one after the other.
@Suite(.timeLimit(.minutes(10))) struct RandomSharingTests {
    /// What a random transaction does to its owner's rows.
    private struct Life: Sendable {
        enum Step: CaseIterable { case add, insert, read, wait, remove }

        let owner: Int
        let steps: [Step]
        let isRefused: Bool
        let fails: Bool

        init(_ random: inout Seeded, owners: Int) {
            owner = .random(in: 0..<owners, using: &random)
            steps = (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in Step.allCases.randomElement(using: &random) }
            isRefused = Int.random(in: 0..<12, using: &random) == 0
            fails = Int.random(in: 0..<12, using: &random) == 0
        }

        func run(_ number: Int, _ sql: Transaction) async throws {
            for (place, step) in steps.enumerated() {
                switch step {
                case .add:
                    try sql.enqueue(
                        """
                        UPDATE counter SET n = n + new.more FROM \(rows: .of([owner]), .of([1])) AS new (id, more)
                        WHERE counter.id = new.id
                        """
                    )
                case .insert:
                    try sql.enqueue("INSERT INTO entry SELECT * FROM \(rows: .of([owner]), .of([10 * number + place])) AS new")
                case .read:
                    let rows = try await sql.query("SELECT id, \(number) FROM counter WHERE id = \(owner)")
                    let (id, own) = try #require(rows.first).decode(as: (Int32.self, Int.self))
                    #expect(Int(id) == owner && own == number)
                case .wait: await Task.yield()
                case .remove: try await sql.execute("DELETE FROM entry WHERE id = \(owner) AND place < \(number)")
                }
            }
            if isRefused { throw Refused() }
            if fails { try sql.enqueue("INSERT INTO entry VALUES (\(owner), NULL)") }
        }
    }

    /// - Returns: the numbers of those that were committed.
    private static func live(_ owner: Int, _ lives: [Life], _ shared: SharedTransactions) async throws -> [Int] {
        var done: [Int] = []
        for (number, life) in lives.enumerated() where life.owner == owner {
            do {
                try await shared.transaction(of: "\(owner)") { try await life.run(number, $0) }
                done.append(number)
                #expect(!life.isRefused && !life.fails)
            } catch is Refused {
                #expect(life.isRefused)
            } catch let error as DatabaseError {
                #expect(life.fails && error.code == .notNullViolation)
            }
        }
        return done
    }

    @Test(arguments: 0..<8) func `random transactions leave what they leave one after the other`(seed: Int) async throws {
        let owners = 12
        try await withCounters(owners) { world in
            let shared = SharedTransactions(world.database, most: 8, atOnce: 2)
            var random = Seeded(UInt64(seed))
            let lives = (0..<240).map { _ in Life(&random, owners: owners) }
            // One owner's transactions follow each other, so that the model knows their order.
            let tasks = (0..<owners).map { owner in Task { try await Self.live(owner, lives, shared) } }
            var done: Set<Int> = []
            for task in tasks { done.formUnion(try await task.value) }
            var (counts, entries) = (Array(repeating: 0, count: owners), Array(repeating: Set<Int>(), count: owners))
            for (number, life) in lives.enumerated() where done.contains(number) {
                for (place, step) in life.steps.enumerated() {
                    switch step {
                    case .add: counts[life.owner] += 1
                    case .insert: entries[life.owner].insert(10 * number + place)
                    case .read, .wait: break
                    case .remove: entries[life.owner] = entries[life.owner].filter { $0 >= number }
                    }
                }
            }
            #expect(try await world.counts() == counts)
            for owner in 0..<owners {
                let stored = try await world.database.query("SELECT place FROM entry WHERE id = \(owner)")
                #expect(try Set(stored.map { Int(try $0.decode(as: Int32.self)) }) == entries[owner])
            }
            #expect(done.count > 150 && shared.waiting == 0)
        }
    }
}
