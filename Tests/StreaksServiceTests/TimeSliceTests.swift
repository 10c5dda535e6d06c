import Dispatch
import Kernel
import Synchronization
import TestSupport
import Testing

@testable import Runtime
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// Counts how often the tasks on it get a thread: one time more than they have given it up.
private final class CountingExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "counted")
    private let turns = Atomic(0)
    var count: Int { turns.load(ordering: .relaxed) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        turns.add(1, ordering: .relaxed)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Jobs that compute over many ledgers let requests run in between.
@Suite(.timeLimit(.minutes(10))) struct TimeSliceTests {
    private static let size = 60
    /// An answer of the database that is there before it is waited for costs no turn, in one run or the other.
    private static let early = size / 4

    /// Streaks whose last date is over, each of two users.
    private func fill(_ world: World) async throws {
        for number in 0..<Self.size {
            var pair: [UserID] = []
            for member in 0..<2 { pair.append(try await world.person(UInt64(2 * number + member + 1))) }
            let streak = try await world.befriend(pair[0], pair[1])
            for person in pair { try await world.post(person, to: [streak]) }
        }
        world.clock.advance(by: .days(2))
    }

    /// How often a job gets a thread when each slice is that long.
    private func turns(slice: Duration, _ job: (World) -> Job) async throws -> Int {
        let counted = Mutex(0)
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            try await fill(world)
            let (job, executor) = (job(world), CountingExecutor())
            let done = try await TimeSlice.$length.withValue(slice) {
                try await withTaskExecutorPreference(executor) { try await job.run(world.clock.now()) }
            }
            #expect(done >= Self.size)
            counted.withLock { $0 = executor.count }
        }
        return counted.withLock { $0 }
    }

    @Test func `settling gives its thread up between any two ledgers when the time is over, and never else`() async throws {
        let greedy = try await turns(slice: .seconds(3_600)) { $0.service.settlement().job }
        let fair = try await turns(slice: .zero) { $0.service.settlement().job }
        #expect(greedy < Self.size, "the database's answers only")
        let least = greedy + 2 * Self.size - Self.early
        #expect(fair >= least, "after planning each and after the events of each: \(greedy), \(fair)")
    }

    @Test func `so does the search for due reminders`() async throws {
        func job(_ world: World) -> Job { world.service.reminders.job }
        let greedy = try await turns(slice: .seconds(3_600), job)
        let fair = try await turns(slice: .zero, job)
        #expect(fair >= greedy + 2 * Self.size - Self.early, "\(greedy), \(fair)")
    }
}
