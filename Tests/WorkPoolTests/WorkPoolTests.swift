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

    private func until(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            try #require(ContinuousClock.now < deadline)
            await Task.yield()
        }
    }
}
