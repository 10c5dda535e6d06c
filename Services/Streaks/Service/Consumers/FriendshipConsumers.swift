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
                guard let id = try await streaks.find(friendship: friendship, work.sql) else { return }
                for stored in try await streaks.lock([id], work.sql) {
                    _ = try await keeper.apply(.end, to: stored, work)
                    try await keeper.refreshStats([stored.row.userA, stored.row.userB], work)
                }
            },
        ]
    }
}
