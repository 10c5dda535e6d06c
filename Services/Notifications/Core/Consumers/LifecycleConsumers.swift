internal import AuthAPI
package import CommonAPI
package import NotificationsDomain
internal import Outbox

/// AU-7: no notification reaches, names or comes from a user who has deleted the account; one whose account is back gets one about that.
enum LifecycleConsumers {
    /// - Parameter writer: of entries. Those of a restored account are written here and not by `log`: events of one account keep their order in one
    ///   feature only, and before the profile of the restored account no entry reaches its user.
    static func all(_ writer: NotificationWriter) -> [EventHandler] {
        [
            EventHandler(AccountDeleted.self) { event, work in
                // Pushes before devices and entries, as where the answers of the push service are stored: so no two wait for each other.
                try await RecipientRepository.deleteAll(of: event.userID, work.sql)
                try await DeviceRepository.removeAll(of: event.userID, work.sql)
                try await NotificationRepository.deleteAll(of: event.userID, work.sql)
            },
            EventHandler(AccountRestored.self) { event, work in
                let values = NotificationValues(event.ended.map(EndedItems.init))
                try await writer.write(NewNotification(user: event.userID, kind: .accountRestored, values: values), work)
            },
        ]
    }
}

extension EndedItems {
    /// As they come over the bus.
    package init(_ ended: EndedByDeletion) {
        self.init(friendships: ended.friendships, circles: ended.circles, streaks: ended.mutualStreaks)
    }
}
