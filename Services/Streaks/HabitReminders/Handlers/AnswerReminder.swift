internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// HA-5: what was tapped on a reminder, for the reminder's date.
struct AnswerReminder: MutationHandler {
    let habits: HabitStore
    let mutations: Mutations

    func handle(_ request: AnswerReminderRequest, _ context: CallContext) async throws -> Once<AnswerReminderReply> {
        let user = try context.requireUser()
        return try await habits.knowing(user, context) {
            try await mutations.once(context, request) { work in
                let book = try await habits.open(user, work)
                return try await ReminderAnswers(book: book, policy: habits.writer.policy(for: .habit)).answer(request)
            }
        }
    }
}
