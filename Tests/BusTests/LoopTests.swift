import Synchronization
import TestSupport
import Testing

@testable import Loop

@Suite struct LoopTests {
    private func withLoop(_ body: (IOLoop, LoopExecutor) async throws -> Void) async throws {
        let loop = try #require(IOLoop(name: "test loop"))
        #expect(loop.start())
        defer { loop.stop() }
        try await body(loop, LoopExecutor(loop))
    }

    /// Uses the processor for so long.
    private static func compute(_ nanoseconds: UInt64) {
        let end = threadNanoseconds() + nanoseconds
        while threadNanoseconds() < end {}
    }

    @Test func `a task runs on the loop's thread, after each of its waits too`() async throws {
        try await withLoop { loop, executor in
            let places = await Task(executorPreference: executor) {
                var places = [loop.isCurrent]
                for _ in 0..<100 {
                    await Task.yield()
                    places.append(loop.isCurrent)
                }
                try? await Task.sleep(for: .milliseconds(1))
                return places + [loop.isCurrent]
            }.value
            #expect(places.allSatisfy { $0 } && !loop.isCurrent)
        }
    }

    @Test func `tasks that compute for long go on elsewhere, those of other kinds stay`() async throws {
        try await withLoop { loop, long in
            let short = LoopExecutor(loop)
            let first = await Task(executorPreference: long) {
                let began = loop.isCurrent
                Self.compute(4 * LoopExecutor.longest)
                await Task.yield()
                return [began, loop.isCurrent]
            }.value
            #expect(first == [true, false])
            let second = await Task(executorPreference: long) { loop.isCurrent }.value
            #expect(!second)
            let other = await Task(executorPreference: short) { loop.isCurrent }.value
            #expect(other)
        }
    }

    @Test func `what waits when the loop stops goes on elsewhere`() async throws {
        let loop = try #require(IOLoop(name: "test loop"))
        #expect(loop.start())
        let executor = LoopExecutor(loop)
        let gate = Gate()
        let waiting = Shared(0)
        let tasks = (0..<100).map { _ in
            Task(executorPreference: executor) {
                waiting.update { $0 += 1 }
                await gate.wait()
                return loop.isCurrent
            }
        }
        try await eventually("all wait") { waiting.value == 100 }
        // The last of them has suspended when a later task of the loop has run.
        await Task(executorPreference: executor) {}.value
        loop.stop()
        gate.open()
        for task in tasks { #expect(await !task.value) }
        let late = await Task(executorPreference: executor) { loop.isCurrent }.value
        #expect(!late)
    }

    @Test func `a participant takes part until it leaves, and learns that the loop has stopped`() async throws {
        let loop = try #require(IOLoop(name: "test loop"))
        #expect(loop.start())
        let (leaving, staying) = (try Participant(turns: 3), try Participant(turns: .max))
        #expect(loop.add(leaving) && loop.add(staying))
        for number in 1...10 {
            leaving.wakeUp.signal()
            staying.wakeUp.signal()
            try await eventually("turn \(number)") { staying.seen >= number && leaving.seen >= min(number, 3) }
        }
        #expect(leaving.seen == 3 && !leaving.hasEnded)
        loop.stop()
        try await eventually("the loop has ended") { staying.hasEnded }
        #expect(!loop.add(leaving))
    }

    /// A wake-up that comes just before the loop sleeps must not be lost.
    @Test func `no wake-up from another thread is lost`() async throws {
        try await withLoop { loop, executor in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<5_000 { _ = await Task(executorPreference: executor) { loop.isCurrent }.value }
                    }
                }
            }
        }
    }

    private final class Participant: LoopParticipant {
        let wakeUp: WakeUp
        private let turns: Int
        private let state = Mutex((seen: 0, hasEnded: false))

        init(turns: Int) throws {
            wakeUp = try #require(WakeUp())
            self.turns = turns
        }

        var descriptor: Int32 { wakeUp.descriptor }
        var seen: Int { state.withLock { $0.seen } }
        var hasEnded: Bool { state.withLock { $0.hasEnded } }

        func turn(isReadable: Bool) -> LoopMembership {
            guard isReadable else { return .stay }
            wakeUp.reset()
            return state.withLock { state in
                state.seen += 1
                return state.seen < turns ? .stay : .leave
            }
        }

        func flush() {}
        func rest() -> Int32? { -1 }
        func ended() { state.withLock { $0.hasEnded = true } }
    }
}
