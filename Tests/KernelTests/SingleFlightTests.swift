import Synchronization
import TestSupport
import Testing

@testable import Kernel

struct SingleFlightTests {
    private struct Failed: Error {}

    /// Work that ends when the test says so, and counts how often it began.
    private final class Work: Sendable {
        private let begun = Atomic(0)
        private let isOver = Atomic(false)

        var count: Int { begun.load(ordering: .relaxed) }

        func end() { isOver.store(true, ordering: .relaxed) }

        func run() async throws -> Int {
            let number = begun.add(1, ordering: .relaxed).newValue
            try await eventually("the work may end") { isOver.load(ordering: .relaxed) }
            return number
        }
    }

    /// Eight who ask at once; returns when all wait.
    private func eight(_ flight: SingleFlight<String, Int>, _ work: @escaping @Sendable () async throws -> Int) async throws
        -> [Task<Int, any Error>]
    {
        let tasks = (0..<8).map { _ in Task { try await flight.run("a", work) } }
        try await eventually("all wait") { flight.waiting("a") == 8 }
        return tasks
    }

    @Test func `work that eight ask for at once is done once, and again for a caller who comes after it`() async throws {
        let (flight, work) = (SingleFlight<String, Int>(), Work())
        let tasks = try await eight(flight, work.run)
        try await eventually("it has begun") { work.count > 0 }
        #expect(work.count == 1)
        work.end()
        for task in tasks { #expect(try await task.value == 1) }
        #expect(try await flight.run("a", work.run) == 2)
    }

    @Test func `other work is not waited for`() async throws {
        let (flight, work) = (SingleFlight<String, Int>(), Work())
        let tasks = try await eight(flight, work.run)
        #expect(try await flight.run("b") { 7 } == 7)
        work.end()
        for task in tasks { _ = try await task.value }
    }

    @Test func `who is cancelled waits no longer, and the others get the result`() async throws {
        let (flight, work) = (SingleFlight<String, Int>(), Work())
        let first = Task { try await flight.run("a", work.run) }
        try await eventually("the work runs") { work.count == 1 }
        let second = Task { try await flight.run("a", work.run) }
        try await eventually("both wait") { flight.waiting("a") == 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        work.end()
        #expect(try await second.value == 1)
        #expect(work.count == 1)
    }

    @Test func `work that fails does so for those who wait, and is tried again for the next`() async throws {
        let flight = SingleFlight<String, Int>()
        let work = Work()
        let tasks = try await eight(flight) {
            _ = try await work.run()
            throw Failed()
        }
        work.end()
        for task in tasks { await #expect(throws: Failed.self) { try await task.value } }
        #expect(try await flight.run("a") { 3 } == 3)
    }

    @Test func `a caller that was cancelled before it asked starts nothing`() async throws {
        let (flight, work) = (SingleFlight<String, Int>(), Work())
        let asking = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await flight.run("a", work.run)
        }
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        #expect(work.count == 0)
    }
}
