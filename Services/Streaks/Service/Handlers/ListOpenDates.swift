internal import Bus
internal import Kernel
internal import StreaksAPI

extension StreaksService {
    /// PH-5: what the feed is made from.
    func listOpenDates(_ request: ListOpenDatesRequest, context: CallContext) async throws -> ListOpenDatesReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let rows = try await streaks.active(of: user)
        async let people = profiles.profiles(rows.map { $0.friend(of: user) }, context: context)
        let views = try await views(rows, of: user, context).filter { $0.row.status == .active }
        let known = try await people
        return ListOpenDatesReply(
            streaks: views.map { view in
                let friend = view.row.friend(of: user)
                return OpenDate(
                    streakID: view.row.id.description,
                    friendID: friend.description,
                    friend: known[friend]?.summary,
                    currentCount: view.row.count,
                    yourDate: view.yourDate.description,
                    friendDate: view.friendDate.description,
                    youPosted: view.youPosted,
                    friendPosted: view.friendPosted,
                    deadlineAt: view.row.deadlineAt,
                    atRisk: view.isAtRisk
                )
            }
        )
    }
}
