internal import Bus
internal import Kernel
internal import StreaksAPI

/// The calendar of the check-in streak.
struct GetCheckInHistory: QueryHandler {
    let histories: CheckInHistories

    func handle(_ request: GetCheckInHistoryRequest, _ context: CallContext) async throws -> GetCheckInHistoryReply {
        let user = try context.requireUser()
        return GetCheckInHistoryReply(data: try await histories.history(of: user, days: Int(request.days ?? 90), context))
    }
}
