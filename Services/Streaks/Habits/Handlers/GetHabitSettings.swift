internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// What the caller has chosen for the app.
struct GetHabitSettings: QueryHandler {
    let habits: HabitStore

    func handle(_: GetHabitSettingsRequest, _ context: CallContext) async throws -> HabitAppSettings {
        let user = try context.requireUser()
        return HabitAppSettings(try await HabitAccountRepository.find(user, at: habits.work.now(), habits.database))
    }
}
