import Dispatch
import Synchronization
import Testing

@testable import Kernel

/// One thread for all its tasks, and a list of who ran when.
private final class OneThread: TaskExecutor {
    private let queue = DispatchQueue(label: "one thread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private final class Log: Sendable {
    private let entries = Mutex<[String]>([])
    func note(_ entry: String) { entries.withLock { $0.append(entry) } }
    var all: [String] { entries.withLock { $0 } }
}

/// A loop and five tasks that wait for its thread.
@Suite(.timeLimit(.minutes(10))) struct TimeSliceTests {
    /// Who ran when, on one thread, where the others are ready as soon as the loop begins.
    private func order(slice: Duration, _ loop: @escaping @Sendable (Log) async -> Void) async -> [String] {
        let log = Log()
        await TimeSlice.$length.withValue(slice) {
            await withTaskGroup(of: Void.self) { tasks in
                let thread = OneThread()
                tasks.addTask(executorPreference: thread) {
                    await withTaskGroup(of: Void.self) { others in
                        for other in 0..<5 { others.addTask(executorPreference: thread) { log.note("other \(other)") } }
                        await loop(log)
                    }
                }
            }
        }
        return log.all
    }

    private static let others = (0..<5).map { "other \($0)" }

    @Test func `a task that waits runs between two steps when the slice is over`() async {
        let order = await order(slice: .zero) { log in
            var slice = TimeSlice()
            for step in 0..<50 {
                log.note("step \(step)")
                await slice.yieldIfOver()
            }
        }
        #expect(order == ["step 0"] + Self.others + (1..<50).map { "step \($0)" })
    }

    @Test func `until the slice is over no other task runs`() async {
        let order = await order(slice: .seconds(3_600)) { log in
            var slice = TimeSlice()
            for step in 0..<50 {
                log.note("step \(step)")
                await slice.yieldIfOver()
            }
        }
        #expect(order == (0..<50).map { "step \($0)" } + Self.others)
    }

    @Test func `a map in slices lets others run and gives what a map does`() async {
        let results = Mutex<[Int]>([])
        let order = await order(slice: .zero) { log in
            let squares = await (0..<100).mapInSlices { number in
                log.note("step \(number)")
                return number * number
            }
            results.withLock { $0 = squares }
        }
        #expect(results.withLock { $0 } == (0..<100).map { $0 * $0 })
        // Of sixteen elements at a time.
        #expect(order == (0..<16).map { "step \($0)" } + Self.others + (16..<100).map { "step \($0)" })
        await #expect(throws: CancellationError.self) {
            _ = try await (0..<3).mapInSlices { _ in throw CancellationError() }
        }
    }
}
