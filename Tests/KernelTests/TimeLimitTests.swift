import Kernel
import Synchronization
import Testing

@Suite struct TimeLimitTests {
    private struct Failure: Error, Equatable {}

    @Test func `work within its limit gives its result or its error`() async throws {
        #expect(try await withTimeLimit(.seconds(60)) { 7 } == 7)
        await #expect(throws: Failure.self) { try await withTimeLimit(.seconds(60)) { throw Failure() } }
        for number in 0..<500 {
            #expect(
                try await withTimeLimit(.seconds(60)) {
                    await Task.yield(); return number
                } == number
            )
        }
    }

    @Test func `work that never ends is given up, although it does not answer its cancellation`() async throws {
        let release = Mutex<CheckedContinuation<Void, Never>?>(nil)
        await #expect(throws: TimeLimitExceeded.self) {
            try await withTimeLimit(.milliseconds(20)) {
                await withCheckedContinuation { waiter in release.withLock { $0 = waiter } }
            }
        }
        // What ends later does no harm.
        release.withLock { $0 }?.resume()
    }

    @Test func `limits of seconds end work too, each its own, and cost nothing when the work is over`() async throws {
        let began = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for seconds in [5, 6] {
                tasks.addTask {
                    await #expect(throws: TimeLimitExceeded.self) {
                        try await withTimeLimit(.seconds(seconds)) { try await Task.sleep(for: .seconds(600)) }
                    }
                    #expect(ContinuousClock.now - began >= .seconds(seconds))
                }
            }
            for _ in 0..<1_000 {
                tasks.addTask {
                    let result = try await withTimeLimit(.seconds(600)) { 7 }
                    #expect(result == 7)
                }
            }
            try await tasks.waitForAll()
        }
    }

    @Test func `work is cancelled with its caller, and its last word counts`() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let caller = Task {
            try await withTimeLimit(.seconds(60)) {
                hasBegun.finish()
                while !Task.isCancelled { await Task.yield() }
                return "ended in order"
            }
        }
        for await _ in begun {}
        caller.cancel()
        #expect(try await caller.value == "ended in order")
    }

    @Test func `two operations run side by side, and a failure ends both`() async throws {
        let pair = try await concurrently {
            1
        } _: {
            "b"
        }
        #expect(pair.0 == 1 && pair.1 == "b")
        let wasCancelled = Atomic(false)
        await #expect(throws: Failure.self) {
            _ = try await concurrently {
                while !Task.isCancelled { await Task.yield() }
                wasCancelled.store(true, ordering: .relaxed)
            } _: {
                throw Failure()
            }
        }
        let hasEnded = wasCancelled.load(ordering: .relaxed)
        #expect(hasEnded, "the other has ended by then")
        await #expect(throws: Failure.self) {
            _ = try await concurrently {
                throw Failure()
            } _: {
                1
            }
        }
    }

    @Test func `each of the two waits for the other`() async throws {
        let (first, one) = AsyncStream.makeStream(of: Void.self)
        let (second, two) = AsyncStream.makeStream(of: Void.self)
        _ = try await concurrently {
            one.finish()
            for await _ in second {}
        } _: {
            for await _ in first {}
            two.finish()
        }
    }
}
