internal import Kernel
internal import Outbox
internal import SocialAPI
internal import StreaksAPI

/// Friendships begin and end streaks (SO-2, SO-4).
extension StreaksService {
    var friendshipHandlers: [EventHandler] {
        [
            EventHandler(FriendshipAccepted.self) { event, work in
                _ = try await start(
                    try FriendshipID(parsing: event.friendshipID, field: "friendship_id"),
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
                // None when a later friendship's streak has started already: that has ended it (`prepareStart`).
                for stored in try await streaks.lock(try await streaks.unendedIDs(of: friendship, of: one, work.sql), work.sql) {
                    _ = try await keeper.apply(.end, to: stored, work)
                    try await keeper.refreshStats([stored.row.userA, stored.row.userB], work)
                }
            },
        ]
    }
}
