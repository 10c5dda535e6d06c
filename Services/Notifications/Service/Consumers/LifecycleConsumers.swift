internal import AuthAPI
internal import Kernel
internal import Outbox
internal import Replicas

/// AU-7: nothing is told to, about or by a person who has deleted the account.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(AccountDeleted.self) { event, work in
            try await DepartureRepository.erase(event.userID, work.sql)
        },
        // Once more: an event that was heard late may have told something since.
        EventHandler(AccountPurged.self) { event, work in
            let user = event.userID
            try await DepartureRepository.erase(user, work.sql)
            try await BlockReplica.erase(user, work.sql)
        },
    ]
}
