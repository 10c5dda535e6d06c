internal import Kernel
internal import Logging
internal import Runtime
private import Synchronization

/// Runs the jobs of one service replica until cancelled.
struct JobRunner: Sendable {
    let jobs: [Job]
    let clock: any Clock
    let logger: Logger
    let metrics: Metrics
    var standings = JobStandings()
    /// The longest pause of a job that could not reach another service.
    var waitForService = Duration.seconds(5)
    /// Whether jobs may run: not while the machine's clock is far ahead (`ClockCheck`).
    var mayRun: @Sendable () -> Bool = { true }
    /// What all runs are at, those of `run` and of `runAllDue`.
    let activity = JobActivity()

    func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            for job in jobs {
                let demand = LaneDemand(interval: job.interval)
                for lane in 0..<job.lanes { tasks.addTask { await loop(job, isFirst: lane == 0, demand) } }
            }
        }
    }

    /// Whether a job needs more than its first lane. While nothing is due only that one looks.
    private final class LaneDemand: Sendable {
        private struct State {
            var found: ContinuousClock.Instant?
            var firstBegan: ContinuousClock.Instant?
        }

        private let interval: Duration
        private let state = Mutex(State())

        init(interval: Duration) { self.interval = interval }

        func found() { state.withLock { $0.found = .now } }
        func firstBegan() { state.withLock { $0.firstBegan = .now } }
        func firstEnded() { state.withLock { $0.firstBegan = nil } }

        /// Something was found a moment ago, or the first lane is long at what it found.
        var isThere: Bool {
            let now = ContinuousClock.now
            return state.withLock { state in
                state.found.map { now - $0 <= interval * 2 } ?? false || state.firstBegan.map { now - $0 > interval } ?? false
            }
        }
    }

    private func loop(_ job: Job, isFirst: Bool, _ demand: LaneDemand) async {
        let handled = metrics.counter("streaksnap_job_rows_total", [("job", job.name)], help: "Due rows dealt with.")
        let failed = metrics.counter("streaksnap_job_failures_total", [("job", job.name)], help: "Runs of a job that failed.")
        let finished = metrics.gauge(
            "streaksnap_job_last_success_timestamp_seconds",
            [("job", job.name)],
            help: "When the job last found nothing more to do, in Unix time."
        )
        var (failures, cause) = (0, "")
        while !Task.isCancelled {
            guard mayRun() else {
                try? await Task.sleep(for: min(job.interval, .seconds(1)))
                continue
            }
            guard isFirst || demand.isThere else {
                try? await Task.sleep(for: job.interval)
                continue
            }
            var pause = job.isExpecting() ? job.interval / 5 : job.interval
            do {
                if isFirst { demand.firstBegan() }
                defer { if isFirst { demand.firstEnded() } }
                let count = try await run(job)
                if failures > 1 {
                    logger.notice("a job runs again", metadata: ["job": "\(job.name)", "failures": "\(failures)"])
                }
                (failures, cause) = (0, "")
                handled.increment(by: count)
                if count > 0 {
                    demand.found()
                    continue
                }
                // By the machine's clock: an operator who reads it has no other.
                finished.set(Int(SystemClock.now().seconds))
                standings.succeeded(job.name, at: SystemClock.now())
            } catch {
                // A `CancellationError` alone does not mean that: it may be of something that the job has waited for.
                if Task.isCancelled { return }
                failed.increment()
                standings.failed(job.name, error, at: SystemClock.now())
                failures = "\(error)" == cause ? failures + 1 : 1
                cause = "\(error)"
                // The first, and then ever more rarely: while the database is away all jobs fail, again and again.
                let isSaid = failures & (failures - 1) == 0
                if let error = error as? ServiceError, error.code == .unavailable {
                    // As at a first start, when this service is there before another that it asks.
                    if isSaid {
                        logger.info(
                            "a job waits for a service and will run again",
                            metadata: ["job": "\(job.name)", "reason": "\(error.message)"]
                        )
                    }
                    pause = min(pause, waitForService)
                } else if isSaid {
                    logger.warning(
                        "a job failed and will run again",
                        metadata: ["job": "\(job.name)", "error": "\(error)", "failures": "\(failures)"]
                    )
                }
            }
            if isFirst, let signal = job.signal {
                await signal.wait(atMost: pause)
            } else {
                try? await Task.sleep(for: pause)
            }
        }
    }

    private func run(_ job: Job) async throws -> Int {
        let now = clock.now()
        return try await activity.counting { try await withTimeLimit(job.limit) { try await job.run(now) } }
    }

    /// Runs every job until nothing is due any more, and then waits for the runs of `run` that are under way: what they have claimed does not look due,
    /// and yet is not done.
    ///
    /// - Returns: how many rows were dealt with here.
    func runAllDue() async throws -> Int {
        var total = 0
        for job in jobs {
            while true {
                let count = try await run(job)
                if count == 0 { break }
                total += count
            }
        }
        await activity.settled()
        return total
    }
}
