internal import Bus
internal import Kernel
internal import StreaksAPI

/// The calendar as CSV, for premium.
struct ExportCheckInHistory: QueryHandler {
    let histories: CheckInHistories
    let clock: any Clock

    func handle(_ request: ExportCheckInHistoryRequest, _ context: CallContext) async throws -> ExportCheckInHistoryReply {
        let user = try context.requireUser()
        let streaks = histories.streaks
        guard try await streaks.entitlements.isPremium(user, now: clock.now(), streaks.writer.store.database) else {
            throw ServiceError(.permissionDenied, "PREMIUM_REQUIRED", "The export is part of premium.")
        }
        let history = try await histories.history(of: user, days: Int(request.days ?? 365), context)
        return ExportCheckInHistoryReply(csv: CheckInHistories.csv(history.history))
    }
}
