internal import AuthAPI
internal import Kernel
internal import Outbox

/// AU-7: nothing is told to, about or by a user who has deleted the account.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(AccountDeleted.self) { event, work in
            try await NotificationRepository.deleteAll(of: try UserID(parsing: event.userID, field: "user_id"), work.sql)
        }
    ]
}
