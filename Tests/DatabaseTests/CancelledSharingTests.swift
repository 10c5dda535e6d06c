import Loop
import Synchronization
import TestSupport
import Testing

@testable import Database

/// Cancels that are aimed at each moment of a group: a transaction that is said to have committed has, once; any other has not.
@Suite(.timeLimit(.minutes(40))) struct CancelledSharingTests {
    private static let members = 6

    /// What a cancel is aimed at.
    private struct Aim: Sendable {
        enum Moment: CaseIterable { case begun, answered, answeredAgain, returning }

        let moment: Moment
        /// How many members come to it before.
        let after: Int
        let nanoseconds: UInt64
        let victim: Int

        init(_ random: inout Seeded) {
            // Most where the commit is decided.
            let all = Moment.allCases + [.returning, .returning, .returning]
            moment = all[Int.random(in: 0..<all.count, using: &random)]
            after = moment == .returning ? members : Int.random(in: 1...members, using: &random)
            nanoseconds = UInt64.random(in: 0...250_000, using: &random)
            victim = Int.random(in: 0..<members, using: &random)
        }
    }

    /// Members that have come to the moment; once all have ended the cancel is aimed at nothing.
    private final class Target: Sendable {
        private let arrived = Atomic(0)
        private let isOver = Atomic(false)

        func arrive() { arrived.add(1, ordering: .relaxed) }
        func end() { isOver.store(true, ordering: .relaxed) }

        func wait(for aim: Aim) async {
            while arrived.load(ordering: .relaxed) < aim.after {
                if isOver.load(ordering: .relaxed) { return }
                await Task.yield()
            }
            let end = monotonicNanoseconds() + aim.nanoseconds
            while monotonicNanoseconds() < end {}
        }
    }

    private static func add(_ place: Int, _ aim: Aim, _ target: Target, _ sql: Transaction) async throws {
        func come(to moment: Aim.Moment) { if aim.moment == moment { target.arrive() } }
        come(to: .begun)
        _ = try await sql.query("SELECT n FROM counter WHERE id = \(place) FOR UPDATE")
        come(to: .answered)
        _ = try await sql.query("SELECT n FROM counter WHERE id = \(place)")
        come(to: .answeredAgain)
        try sql.enqueue("UPDATE counter SET n = counter.n + 1 FROM \(rows: .of([place])) AS new (id) WHERE counter.id = new.id")
        come(to: .returning)
    }

    @Test(arguments: 0..<4)
    func `whenever one is cancelled, each is answered what is stored, and nothing is done twice`(seed: UInt64)
        async throws
    {
        try await withCounters(Self.members) { world in
            var random = Seeded(seed)
            var cancelled = 0
            let rounds = TestDepth.pick(quick: 200, full: 25_000)
            for round in 0..<rounds {
                // A new one each time: after a group that was dissolved fewer would run together.
                let shared = SharedTransactions(world.database, most: Self.members, atOnce: 1)
                let (aim, target) = (Aim(&random), Target())
                let canceller = Mutex<Task<Void, Never>?>(nil)
                let results = try await SharedWorld(database: world.database, shared: shared).together(
                    Self.members,
                    whenWaiting: { tasks in
                        canceller.withLock {
                            $0 = Task.detached {
                                await target.wait(for: aim)
                                tasks[aim.victim].cancel()
                            }
                        }
                    }
                ) { place, sql in
                    try await Self.add(place, aim, target, sql)
                }
                target.end()
                await canceller.withLock { $0 }?.value
                let told = results.map { result in
                    if case .failure(let error) = result {
                        #expect(error is CancellationError, "\(error)")
                        return 0
                    }
                    return 1
                }
                cancelled += told.count { $0 == 0 }
                #expect(told.indices.allSatisfy { told[$0] == 1 || $0 == aim.victim }, "round \(round)")
                try #require(try await world.counts() == told, "round \(round): \(aim)")
                try await world.database.execute("UPDATE counter SET n = 0")
            }
            // Of both kinds.
            #expect(cancelled > rounds / 20 && cancelled < rounds)
        }
    }
}
