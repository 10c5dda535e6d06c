internal import AuthAPI
internal import Outbox

/// AU-7: no notification reaches, names or comes from a user who has deleted the account.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(AccountDeleted.self) { event, work in
            // Pushes before devices and entries, as where the answers of the push service are stored: so no two wait for each other.
            try await RecipientRepository.deleteAll(of: event.userID, work.sql)
            try await DeviceRepository.removeAll(of: event.userID, work.sql)
            try await NotificationRepository.deleteAll(of: event.userID, work.sql)
        }
    ]
}
