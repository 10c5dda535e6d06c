internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore

/// NO-2.
struct GetPreferences: QueryHandler {
    let log: NotificationRepository

    func handle(_: GetPreferencesRequest, _ context: CallContext) async throws -> Preferences {
        Preferences(try await PreferencesRepository.find(try context.requireUser(), log.database))
    }
}
