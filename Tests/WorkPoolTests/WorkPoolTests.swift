import Dispatch
import Glibc
import Kernel
import Synchronization
import Testing
import WorkPool

@Suite struct WorkPoolTests {
    @Test func `results and errors come back`() async throws {
        struct Expected: Error {}
        let pool = WorkPool(name: "test", threads: 2, queueLimit: 100)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...50 { group.addTask { try await pool.run { number } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 1275)
        await #expect(throws: Expected.self) { try await pool.run { throw Expected() } }
        #expect(pool.load == 0)
    }

    @Test func `its threads give way and no others do`() async throws {
        // The priority of the calling thread (getpriority(2)).
        let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        let pool = WorkPool(name: "test", threads: 1, queueLimit: 1, niceness: 7)
        let plain = WorkPool(name: "test", threads: 1, queueLimit: 1)
        #expect(try await pool.run { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) } == 7)
        #expect(try await plain.run { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) } == 0)
        #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) == own)
    }

    @Test func `more than threads and queue hold is refused`() async throws {
        let pool = WorkPool(name: "test", threads: 1, queueLimit: 1)
        let gate = DispatchSemaphore(value: 0)
        let first = Task { try await pool.run { gate.wait() } }
        // Started before the first is in the pool, the second could run and end before it.
        try await until { pool.load == 1 }
        let second = Task { try await pool.run {} }
        try await until { pool.load == 2 }
        await #expect(throws: ServiceError.unavailable()) { try await pool.run {} }
        gate.signal()
        try await first.value
        try await second.value
        // A thread that has handed over its result is free at once: no spurious refusal.
        for _ in 0..<200 { try await WorkPoolTests.exclusive.run {} }
    }

    private static let exclusive = WorkPool(name: "test", threads: 1, queueLimit: 0)

    @Test func `cancelled work that waits never runs`() async throws {
        let pool = WorkPool(name: "test", threads: 1, queueLimit: 5)
        let gate = DispatchSemaphore(value: 0)
        let hasRun = Atomic(false)
        let first = Task { try await pool.run { gate.wait() } }
        try await until { pool.load == 1 }
        let waiting = Task { try await pool.run { hasRun.store(true, ordering: .relaxed) } }
        try await until { pool.load == 2 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.signal()
        try await first.value
        try await pool.run {}
        let ran = hasRun.load(ordering: .relaxed)
        #expect(!ran)
    }

    @Test func `one owner has half of the threads and a quarter of the queue, and the others do not wait for it`() async throws {
        let pool = WorkPool(name: "test", threads: 2, queueLimit: 14)
        let gate = DispatchSemaphore(value: 0)
        let hog = WorkShare(of: "hog", .patient)
        let hasBegun = Mutex(false)
        let held = Task {
            try await pool.run(for: hog) {
                hasBegun.withLock { $0 = true }
                gate.wait()
            }
        }
        try await until { hasBegun.withLock { $0 } }
        let more = (0..<4).map { _ in Task { try await pool.run(for: hog) { gate.wait() } } }
        try await until { pool.load == 5 }
        await #expect(throws: ServiceError.unavailable()) { try await pool.run(for: hog) {} }
        // Its work holds one thread and waits for it; that of others ends on the other thread.
        for owner in 0..<20 { try await pool.run(for: WorkShare(of: owner, owner % 2 == 0 ? .urgent : .usual)) {} }
        try await pool.run {}
        #expect(pool.load == 5)
        for _ in 0..<5 { gate.signal() }
        for task in [held] + more { try await task.value }
        #expect(pool.load == 0)
    }

    @Test func `patient work of many owners leaves one thread to the others`() async throws {
        let pool = WorkPool(name: "test", threads: 3, queueLimit: 40)
        let gate = DispatchSemaphore(value: 0)
        let patient = (0..<10).map { owner in Task { try await pool.run(for: WorkShare(of: owner, .patient)) { gate.wait() } } }
        try await until { pool.load == 10 }
        for owner in 100..<110 { try await pool.run(for: WorkShare(of: owner, .urgent)) {} }
        #expect(pool.load == 10)
        for _ in 0..<10 { gate.signal() }
        for task in patient { try await task.value }
    }

    /// How often each piece of work was done.
    private final class Done: Sendable {
        private let found = Mutex([Int: Int]())
        var counts: [Int: Int] { found.withLock { $0 } }
        func note(_ number: Int) { found.withLock { $0[number, default: 0] += 1 } }
    }

    @Test func `every piece of work of random owners is done once, whatever is cancelled`() async throws {
        let pool = WorkPool(name: "test", threads: 3, queueLimit: 3_000)
        let done = Done()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<2_000 {
            let share = number % 7 == 0 ? nil : WorkShare(of: number % 11, WorkShare.Purpose.allCases[number % 3])
            let task = Task { try await pool.run(for: share) { done.note(number) } }
            if number % 5 == 0 { task.cancel() }
            tasks.append(task)
        }
        var ended = 0
        for task in tasks {
            do {
                try await task.value
                ended += 1
            } catch is CancellationError {} catch let refusal as ServiceError where refusal.code == .unavailable {}
        }
        try await until { pool.load == 0 }
        let counts = done.counts
        #expect(counts.values.allSatisfy { $0 == 1 } && counts.count >= ended && ended > 1_000)
    }

    private func until(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            try #require(ContinuousClock.now < deadline)
            await Task.yield()
        }
    }
}
