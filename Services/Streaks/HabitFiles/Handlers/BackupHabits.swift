internal import Bus
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// A backup of all habits of the user, as a file; notes when it was made.
struct BackupHabits: MutationHandler {
    let documents: HabitDocuments
    let mutations: Mutations

    func handle(_ request: BackupHabitsRequest, _ context: CallContext) async throws -> Once<BackupHabitsReply> {
        let user = try context.requireUser()
        let habits = documents.habits
        return try await mutations.alone(context, request) {
            try await habits.knowing(user, context) {
                // Before the transaction that notes it: storing a file may take longer than one may wait.
                let key = try await documents.backup(of: user, at: habits.work.now())
                return try await mutations.once(context, request) { work in
                    try await habits.open(user, work).noteBackup()
                    return BackupHabitsReply(body: [], fileKey: key.description)
                }
            }
        }
    }
}
