internal import Kernel
internal import Logging
internal import Runtime
private import Synchronization

/// How late the oldest due row of each job is, read every `interval`: a job that fails, or cannot keep up, is seen from outside (D11).
struct JobLag: Sendable {
    let jobs: [Job]
    let clock: any Clock
    let logger: Logger
    let metrics: Metrics
    var standings = JobStandings()
    var interval = Duration.seconds(5)

    /// What was read last; the lag grows by itself until the next reading.
    private final class Finding: Sendable {
        let dueSince = Mutex<Instant?>(nil)
    }

    func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            for job in jobs {
                guard let oldestDue = job.oldestDue else { continue }
                tasks.addTask { await watch(job.name, oldestDue) }
            }
        }
    }

    private func watch(_ name: String, _ oldestDue: @escaping @Sendable () async throws -> Instant?) async {
        let finding = Finding()
        metrics.measured("streaksnap_job_lag_seconds", [("job", name)], help: "How long the oldest due row has been due.") {
            [weak finding, clock] in
            guard let finding else { return nil }
            let lag = finding.dueSince.withLock { $0 }.map { clock.now() - $0 } ?? .zero
            return Double(max(0, lag.microseconds)) / 1_000_000
        }
        while !Task.isCancelled {
            do {
                let since = try await withTimeLimit(.seconds(30), oldestDue)
                finding.dueSince.withLock { $0 = since }
                standings.isDue(name, since: since)
            } catch {
                logger.debug("how late a job is could not be seen", metadata: ["job": "\(name)", "error": "\(error)"])
            }
            try? await Task.sleep(for: interval)
        }
    }
}
