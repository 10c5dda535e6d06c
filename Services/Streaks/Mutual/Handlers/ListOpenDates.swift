internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// What the feed is made from (PH-5).
struct ListOpenDates: QueryHandler {
    let views: MutualViews

    func handle(_ request: ListOpenDatesRequest, _ context: CallContext) async throws -> ListOpenDatesReply {
        let streaks = try await views.streaks(.running, of: request.userID, withPartners: true, context)
        return ListOpenDatesReply(
            streaks: streaks.map { streak in
                OpenDate(
                    streakID: streak.row.id,
                    friendID: streak.partnerID,
                    friend: streak.partner,
                    currentCount: streak.row.count,
                    yourDate: streak.yourDate,
                    friendDate: streak.partnerDate,
                    youPosted: streak.youPosted,
                    friendPosted: streak.partnerPosted,
                    deadlineAt: streak.row.deadlineAt,
                    atRisk: streak.isAtRisk,
                    openFrom: streak.openFrom,
                    friendNewestDate: streak.partnerNewest
                )
            }
        )
    }
}
