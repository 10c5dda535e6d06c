internal import AuthAPI
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// AU-7. Nobody else sees a ledger, and a restored account finds its tokens again: so nothing happens before the account is gone for good.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(AccountPurged.self) { event, work in
            let user = event.userID
            try await DepartureRepository.anonymise(user, work.sql)
            try await Mutations.forget(caller: user, work.sql)
        }
    ]
}
