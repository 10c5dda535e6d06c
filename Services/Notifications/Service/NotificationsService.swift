internal import Bus
internal import NotificationsAPI
internal import Replicas
internal import Runtime

/// The in-app notification log. The table of contents: one handler file per RPC in `Handlers/`, what is heard in `Consumers/`.
///
/// list · unreadCount · exportUserData
struct NotificationsService: NotificationsServiceProtocol {
    let log: NotificationRepository
    let profiles: ProfileReplica
}
