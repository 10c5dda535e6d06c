internal import AuthAPI
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI

/// AU-7: who deletes the account has no friends any more; who is gone for good was never here.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(AccountDeleted.self) { event, work in
            try await end(event.userID, work)
        },
        EventHandler(AccountPurged.self) { event, work in
            let user = event.userID
            // A request that was under way at the deletion may have left something since.
            try await end(user, work)
            try await DepartureRepository.erase(user, work.sql)
        },
    ]

    private static func end(_ user: UserID, _ work: UnitOfWork) async throws {
        for (id, low, high) in try await DepartureRepository.endAll(of: user, now: work.now, work.sql) {
            try await work.emit(
                FriendshipEnded(
                    friendshipID: id,
                    userAID: low,
                    userBID: high,
                    endedAt: work.now
                )
            )
        }
        try await Mutations.forget(caller: user, work.sql)
    }
}
