internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI

/// Any of mood and energy, weight, steps and notes (CI-1).
struct LogTracking: MutationHandler {
    let recorder: CheckInRecorder
    let mutations: Mutations
    let clock: any Clock

    func handle(_ request: LogTrackingRequest, _ context: CallContext) async throws -> Once<LogTrackingReply> {
        let user = try context.requireUser()
        let report = try Self.report(request)
        let received = clock.now()
        return try await recorder.streaks.knowing(user, context) {
            try await mutations.once(
                context,
                request,
                isShared: true,
                loading: { [recorder] in try recorder.enqueue(user, receivedAt: received, if: $1.lock.isHeld, $0) },
                { [recorder] work, queued in
                    let recorded = try await recorder.record(report, of: user, receivedAt: received, by: queued, work)
                    return LogTrackingReply(
                        streak: recorded.view,
                        milestone: recorded.earned?.view,
                        trackingEntry: recorded.entry,
                        qualifies: recorded.qualifies,
                        capturedAtIgnored: recorded.isCaptureIgnored,
                        serverTime: received,
                        xpEarned: Int32(recorded.earned?.allXP ?? 0)
                    )
                }
            )
        }
    }

    func problems(of request: LogTrackingRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.report(request) }
    }

    /// - Throws: `VALIDATION_ERROR` naming what is missing.
    private static func report(_ request: LogTrackingRequest) throws(ServiceError) -> TrackingReport {
        let report = TrackingReport(request)
        guard !report.isEmpty else { throw .validation(field: "mood_score", "is needed, or another value") }
        guard (report.mood == nil) == (report.energy == nil) else {
            let missing = report.mood == nil ? "mood_score" : "energy_level"
            throw .validation(field: missing, "goes with the other of mood and energy")
        }
        return report
    }
}
