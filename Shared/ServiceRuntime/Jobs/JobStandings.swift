internal import CommonAPI
internal import Kernel
private import Synchronization

/// How the jobs of one replica fare, for administrators (`ServiceOperations`): written by who runs them and who watches how late they are.
final class JobStandings: Sendable {
    /// Most characters of an error's text.
    private static let longestError = 500

    private let standings = Mutex<[String: JobStanding]>([:])

    /// A run found nothing more to do.
    func succeeded(_ job: String, at now: Instant) { change(job) { $0.lastSuccessAt = now } }

    /// A run failed.
    func failed(_ job: String, _ error: any Error, at now: Instant) {
        change(job) {
            $0.lastFailureAt = now
            $0.lastError = String("\(error)".replacing("\0", with: "").prefix(Self.longestError))
        }
    }

    /// Since when the oldest row is due; nil when none is.
    func isDue(_ job: String, since: Instant?) { change(job) { $0.dueSince = since } }

    func standing(of job: String) -> JobStanding { standings.withLock { $0[job] } ?? JobStanding(job: job) }

    private func change(_ job: String, _ body: (inout JobStanding) -> Void) {
        standings.withLock { body(&$0[job, default: JobStanding(job: job)]) }
    }
}
