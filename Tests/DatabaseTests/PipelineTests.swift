import TestSupport
import Testing

@testable import Database

/// The protocol as traces: what was sent, what came back, what it means.
@Suite struct PipelineTests {
    private typealias Trace = Pipeline<String, Int>

    private func text(_ action: Trace.Action?) -> String {
        switch action {
        case .deliver(let job, .success(let answer)): "\(job)=\(answer)"
        case .deliver(let job, .failure(let error)): "\(job) failed \(error.code)"
        case .deliver(let job, .skipped): "\(job) skipped"
        case .refused(let job): "\(job) refused"
        case nil: "-"
        }
    }

    @Test func `a change is over only at the sync`() {
        var pipeline = Trace()
        pipeline.sentExecute("a", isEarly: false)
        pipeline.sentSync()
        pipeline.received(.success(1))
        #expect(text(pipeline.receivedEnd()) == "-")
        #expect(pipeline.jobCount == 1)
        #expect(pipeline.receivedSync().map(text) == ["a=1"])
        #expect(pipeline.isEmpty && pipeline.jobCount == 0)
    }

    @Test func `a read is over when its answer comes`() {
        var pipeline = Trace()
        pipeline.sentPrepare("a")
        pipeline.sentExecute("a", isEarly: true)
        pipeline.sentExecute("b", isEarly: true)
        #expect(pipeline.unsynced == 2)
        pipeline.sentSync()
        #expect(pipeline.unsynced == 0)
        pipeline.received(.success(0))
        #expect(text(pipeline.receivedEnd()) == "-")
        pipeline.received(.success(1))
        #expect(text(pipeline.receivedEnd()) == "a=1")
        pipeline.received(.success(2))
        #expect(text(pipeline.receivedEnd()) == "b=2")
        #expect(pipeline.receivedSync().isEmpty)
        #expect(pipeline.isEmpty)
    }

    @Test func `a failure skips only what shares its sync`() {
        var pipeline = Trace()
        for job in ["a", "b", "c"] { pipeline.sentExecute(job, isEarly: true) }
        pipeline.sentSync()
        pipeline.sentExecute("d", isEarly: false)
        pipeline.sentSync()
        pipeline.received(.success(1))
        #expect(text(pipeline.receivedEnd()) == "a=1")
        pipeline.received(.failure(DatabaseError(.checkViolation)))
        #expect(text(pipeline.receivedEnd()) == "-")
        pipeline.received(.skipped)
        #expect(text(pipeline.receivedEnd()) == "-")
        #expect(pipeline.receivedSync().map(text) == ["b failed checkViolation", "c skipped"])
        pipeline.received(.success(4))
        #expect(text(pipeline.receivedEnd()) == "-")
        #expect(pipeline.receivedSync().map(text) == ["d=4"])
    }

    @Test func `a refused statement fails with its reason not as skipped`() {
        var pipeline = Trace()
        pipeline.sentPrepare("a")
        pipeline.sentExecute("a", isEarly: true)
        pipeline.sentSync()
        pipeline.received(.failure(DatabaseError(.server, sqlState: "42P01")))
        #expect(text(pipeline.receivedEnd()) == "a refused")
        pipeline.received(.skipped)
        #expect(text(pipeline.receivedEnd()) == "-")
        #expect(pipeline.receivedSync().map(text) == ["a failed server"])
    }

    @Test func `a preparation skipped for another's failure is dropped and its job skipped`() {
        var pipeline = Trace()
        pipeline.sentExecute("a", isEarly: true)
        pipeline.sentPrepare("b")
        pipeline.sentExecute("b", isEarly: true)
        pipeline.sentSync()
        pipeline.received(.failure(DatabaseError(.server)))
        #expect(text(pipeline.receivedEnd()) == "-")
        pipeline.received(.skipped)
        #expect(text(pipeline.receivedEnd()) == "b refused")
        pipeline.received(.skipped)
        #expect(text(pipeline.receivedEnd()) == "-")
        #expect(pipeline.receivedSync().map(text) == ["a failed server", "b skipped"])
    }

    @Test func `a failure of the commit itself fails the change`() {
        var pipeline = Trace()
        pipeline.sentExecute("a", isEarly: false)
        pipeline.sentSync()
        pipeline.received(.success(1))
        #expect(text(pipeline.receivedEnd()) == "-")
        pipeline.received(.failure(DatabaseError(.uniqueViolation)))
        #expect(text(pipeline.receivedEnd()) == "-")
        #expect(pipeline.receivedSync().map(text) == ["a failed uniqueViolation"])
    }

    @Test func `a lost connection reports what is certain`() {
        var pipeline = Trace()
        pipeline.sentExecute("done", isEarly: true)
        pipeline.sentSync()
        for job in ["failed", "committing?", "running"] {
            pipeline.sentExecute(job, isEarly: false)
            pipeline.sentSync()
        }
        pipeline.received(.success(1))
        #expect(text(pipeline.receivedEnd()) == "done=1")
        #expect(pipeline.receivedSync().isEmpty)
        pipeline.received(.failure(DatabaseError(.checkViolation)))
        #expect(text(pipeline.receivedEnd()) == "-")
        let (failed, unknown) = pipeline.lost()
        #expect(failed.map(\.0) == ["failed"])
        #expect(unknown == ["committing?", "running"])
        #expect(pipeline.isEmpty && pipeline.jobCount == 0)
    }
}

@Suite struct RecoveryTests {
    private let backoff = Backoff(first: 100, limit: 1000)

    @Test func `one attempt at a time and the others follow a success`() {
        var recovery = Recovery(slots: 3, backoff: backoff)
        #expect(recovery.nextAttempt(now: 0) == 0)
        #expect(recovery.nextAttempt(now: 0) == nil)
        recovery.failed(now: 10)
        #expect(recovery.nextAttempt(now: 10) == nil)
        #expect(recovery.nextAttempt(now: 110) == 1)
        recovery.succeeded()
        #expect(recovery.nextAttempt(now: 110) == 2)
        recovery.succeeded()
        #expect(recovery.nextAttempt(now: 110) == 0)
        recovery.succeeded()
        #expect(recovery.nextAttempt(now: 110) == nil && !recovery.isBusy)
        recovery.lost(1)
        #expect(recovery.isBusy && recovery.nextAttempt(now: 110) == 1)
    }

    @Test func `pauses double up to the limit and are spread`() {
        for (failures, range) in [(1, 50...100), (2, 100...200), (3, 200...400), (5, 500...1000), (64, 500...1000)]
            as [(Int, ClosedRange<UInt64>)]
        {
            let delays = Set((0..<100).map { backoff.delay(failures: failures, seed: $0) })
            #expect(delays.allSatisfy(range.contains))
            #expect(delays.count > 20)
        }
    }
}

@Suite struct StatementCacheTests {
    @Test func `the least recently used goes first`() {
        var cache = StatementCache(capacity: 2)
        let (first, second) = (cache.insert(1), cache.insert(2))
        #expect(cache.name(for: 1) == first && cache.name(for: 2) == second && cache.name(for: 1) == first)
        _ = cache.insert(3)
        #expect(cache.name(for: 2) == nil && cache.name(for: 1) == first && cache.count == 2)
        #expect(cache.popRetired() == second && cache.popRetired() == nil)
        cache.remove(1, named: "another", retiring: false)
        #expect(cache.name(for: 1) == first)
        cache.remove(1, named: first, retiring: false)
        #expect(cache.popRetired() == nil && cache.name(for: 1) == nil)
        #expect(cache.insert(1) != first)
    }

    @Test func `a registry stays bounded and never reuses an id`() {
        var registry = StatementRegistry(capacity: 3)
        let ids = (0..<10).map { registry.statement("SELECT \($0)").id }
        #expect(Set(ids).count == 10)
        #expect(registry.statement("SELECT 9").id == ids[9])
        #expect(registry.statement("SELECT 9", types: [20]).id != ids[9])
    }
}

@Suite struct FIFOTests {
    @Test(arguments: 1...20) func `it gives what a list gives, also when elements are taken out of its front`(seed: UInt64) {
        var random = Seeded(seed)
        var queue = FIFO<Int>()
        var model: [Int] = []
        for step in 0..<500 {
            switch Int.random(in: 0..<10, using: &random) {
            case ..<5:
                queue.append(step)
                model.append(step)
            case ..<7: #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            case ..<8:
                let gone = queue.removeAll { $0 % 7 == 0 }
                #expect(gone == model.filter { $0 % 7 == 0 })
                model.removeAll { $0 % 7 == 0 }
            default:
                let (most, ahead) = (Int.random(in: 0...4, using: &random), Int.random(in: 0...12, using: &random))
                let taken = model.prefix(ahead).filter { $0 % 3 == 0 }.prefix(most)
                #expect(queue.take(most, ahead: ahead) { $0 % 3 == 0 } == Array(taken))
                model.removeAll { taken.contains($0) }
            }
            #expect(queue.elements == model && queue.count == model.count && queue.first == model.first)
        }
    }
}

@Suite struct ReadClassifierTests {
    @Test(arguments: [
        "SELECT 1", " select a.b, count(*) FROM t AS a WHERE x = $1 AND y IN ($2, $3) GROUP BY a.b",
        "SELECT coalesce(max(n), 0) FROM t WHERE name = 'for update; nextval(1)' AND \"for\" = 1",
        "SELECT x FROM t WHERE id = ANY($1)", "WITH mine AS (SELECT 1 AS x) SELECT x FROM mine",
        "SELECT a FROM unnest($1) WITH ORDINALITY AS list (a, place)",
    ]) func `plain selects are reads`(text: String) { #expect(ReadClassifier.isRead(text)) }

    @Test(arguments: [
        "UPDATE t SET a = 1", "INSERT INTO t VALUES (1)", "SELECT * FROM t FOR UPDATE SKIP LOCKED", "SELECT nextval('s')",
        "SELECT pg_advisory_lock(1)", "SELECT my_function(1)", "SELECT \"my_function\"(1)", "SELECT my_function\n (1)",
        "SELECT 1 INTO t",
        "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "WITH x AS (SELECT f(1)) SELECT * FROM x",
        "WITH x AS (SELECT 1) UPDATE t SET a = 1", "SELECT 1; DELETE FROM t", "SELECT 1 -- FOR",
        "SELECT /* ' */ f(1) /* ' */",
        "SELECT $$ ' $$, f(1), ' '", "SELECT E'\\'' , f(1) , ' '", "SELECT 'open", "", "TABLE t",
        "SELECT set_config('a', 'b', false)",
    ]) func `everything else is not`(text: String) { #expect(!ReadClassifier.isRead(text)) }
}
