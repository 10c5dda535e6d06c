internal import Bus
internal import Kernel
internal import StreaksAPI

extension StreaksService {
    /// PH-5: what the feed is made from.
    func listOpenDates(_ request: ListOpenDatesRequest, context: CallContext) async throws -> ListOpenDatesReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let views = try await views(.running, of: user, withFriends: true, context)
        return ListOpenDatesReply(
            streaks: views.map { view in
                OpenDate(
                    streakID: view.row.id.description,
                    friendID: view.friendID.description,
                    friend: view.friend,
                    currentCount: view.row.count,
                    yourDate: view.yourDate.description,
                    friendDate: view.friendDate.description,
                    youPosted: view.youPosted,
                    friendPosted: view.friendPosted,
                    deadlineAt: view.row.deadlineAt,
                    atRisk: view.isAtRisk,
                    openFrom: view.openFrom.description,
                    friendNewestDate: view.friendNewest.description
                )
            }
        )
    }
}
