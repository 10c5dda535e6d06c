internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI

/// The day's check-in, or an update of the day's entry (CI-1).
struct CheckIn: MutationHandler {
    let recorder: CheckInRecorder
    let mutations: Mutations
    let clock: any Clock

    func handle(_ request: CheckInRequest, _ context: CallContext) async throws -> Once<CheckInReply> {
        let user = try context.requireUser()
        let received = clock.now()
        return try await recorder.streaks.knowing(user, context) {
            try await mutations.once(
                context,
                request,
                isShared: true,
                loading: { [recorder] in try recorder.enqueue(user, receivedAt: received, if: $1.lock.isHeld, $0) },
                { [recorder] work, queued in
                    let report = TrackingReport(request)
                    let recorded = try await recorder.record(report, of: user, receivedAt: received, by: queued, work)
                    return Self.reply(recorded, receivedAt: received)
                }
            )
        }
    }

    private static func reply(_ recorded: RecordedReport, receivedAt: Instant) -> CheckInReply {
        CheckInReply(
            data: CheckInData(
                streak: recorded.view,
                milestone: recorded.earned?.view,
                trackingEntry: recorded.entry,
                xpEarned: Int32(recorded.earned?.allXP ?? 0)
            ),
            message: recorded.isFirst ? nil : "Stats updated! You already completed your check-in today.",
            meta: CheckInMeta(
                nextCheckInAvailable: recorded.streak.nextDate,
                capturedAtIgnored: recorded.isCaptureIgnored,
                serverTime: receivedAt
            )
        )
    }
}
