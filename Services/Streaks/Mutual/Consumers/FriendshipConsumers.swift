internal import Kernel
internal import Outbox
internal import SocialAPI
internal import StreaksCore

/// Friendships begin and end streaks (SO-2, SO-4).
struct FriendshipConsumers: Sendable {
    let starts: MutualStarts
    let writer: StreakWriter

    var handlers: [EventHandler] {
        [
            EventHandler(FriendshipAccepted.self) { event, work in
                _ = try await starts.start(
                    for: try FriendshipID(parsing: event.friendshipID, field: "friendship_id"),
                    try UserID(parsing: event.requesterID, field: "requester_id"),
                    try UserID(parsing: event.accepterID, field: "accepter_id"),
                    work
                )
            },
            EventHandler(FriendshipEnded.self) { event, work in
                let friendship = try FriendshipID(parsing: event.friendshipID, field: "friendship_id")
                let one = try UserID(parsing: event.userAID, field: "user_a_id")
                let two = try UserID(parsing: event.userBID, field: "user_b_id")
                try await StartRepository.lock([one, two], work.sql)
                try await StartRepository.noteEnd(of: friendship, at: work.now, work.sql)
                // None when a later friendship's streak has started already: that has ended it (`MutualStarts`).
                let streaks = try await StartRepository.streaks(of: friendship, work.sql)
                for stored in try await writer.store.lock(streaks, work.sql) where stored.row.status != .ended {
                    try await writer.apply(.end, to: stored, work)
                }
            },
        ]
    }
}
