internal import Kernel
internal import Outbox
internal import SocialAPI
internal import StreaksCore
internal import StreaksDomain

/// Friendships begin and end streaks (SO-2, SO-4).
struct FriendshipConsumers: Sendable {
    let starts: MutualStarts
    let writer: StreakWriter

    var handlers: [EventHandler] {
        [
            EventHandler(FriendshipAccepted.self) { event, work in
                _ = try await starts.start(
                    for: event.friendshipID,
                    event.requesterID,
                    event.accepterID,
                    work
                )
            },
            EventHandler(FriendshipEnded.self) { event, work in
                let friendship = event.friendshipID
                try await StartRepository.lock([event.userAID, event.userBID], work.sql)
                try await StartRepository.noteEnd(
                    of: friendship,
                    at: work.now,
                    endedAt: event.endedAt ?? work.now,
                    work.sql
                )
                // None when a later friendship's streak has started already: that has ended it (`MutualStarts`).
                let streaks = try await StartRepository.streaks(of: friendship, work.sql)
                let command: StreakCommand =
                    event.deletedUserID.map { .endWithAccount(of: $0, at: event.endedAt ?? work.now) } ?? .end
                for stored in try await writer.store.lock(streaks, work.sql) where stored.row.status != .ended {
                    try await writer.apply(command, to: stored, work)
                }
            },
        ]
    }
}
