internal import AuthAPI
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI

/// AU-7: a user who deletes the account has no friends any more.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(AccountDeleted.self) { event, work in
            try await end(event.userID, work)
        }
    ]

    static func end(_ user: UserID, _ work: UnitOfWork) async throws {
        for (id, low, high) in try await FriendshipEnds.endAll(of: user, now: work.now, work.sql) {
            try await work.emit(
                FriendshipEnded(
                    friendshipID: id,
                    userAID: low,
                    userBID: high,
                    endedAt: work.now
                )
            )
        }
        try await Mutations.deleteReplies(to: user, work.sql)
    }
}
