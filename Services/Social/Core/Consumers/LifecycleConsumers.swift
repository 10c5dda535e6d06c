internal import AuthAPI
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI

/// AU-7: a user who deletes the account has no friends any more.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(AccountDeleted.self) { event, work in
            let ended = try await end(event.userID, work)
            guard let deletedAt = event.deletedAt else { return }
            try await EndedTies.note(ended, .friendships, of: event.userID, deletedAt: deletedAt, work.sql)
        }
    ]

    /// Ends the friendships and requests of a user whose account is deleted. - Returns: how many friendships.
    @discardableResult
    static func end(_ user: UserID, _ work: UnitOfWork) async throws -> Int {
        let ended = try await FriendshipEnds.endAll(of: user, now: work.now, work.sql)
        for (id, low, high) in ended {
            try await work.emit(
                FriendshipEnded(
                    friendshipID: id,
                    userAID: low,
                    userBID: high,
                    endedAt: work.now,
                    deletedUserID: user
                )
            )
        }
        try await Mutations.deleteReplies(to: user, work.sql)
        return ended.count
    }
}
