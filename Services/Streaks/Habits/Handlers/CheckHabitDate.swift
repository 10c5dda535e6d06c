internal import Bus
internal import Database
internal import StreaksAPI
internal import StreaksCore

/// Whether a date of a user's habit has a completion, so that media stores no photo of one that has none.
struct CheckHabitDate: QueryHandler {
    let habits: HabitStore

    func handle(_ request: CheckHabitDateRequest, _: CallContext) async throws -> CheckHabitDateReply {
        let known = try await CompletionReads.isCompleted(request.habitID, request.userID, on: request.date, habits.database)
        return CheckHabitDateReply(habitExists: known != nil, isCompleted: known ?? false)
    }
}
