internal import Kernel
internal import Outbox
internal import SocialAPI

/// Withdraws the public pages of cards when the two who are on them part, and when their user leaves the circle (MC-2, SO-7).
enum PageConsumers {
    static let all: [EventHandler] = [
        EventHandler(UserBlocked.self) { event, work in
            guard let block = event.block else { return }
            try await CardRepository.withdraw(between: block.blockerID, and: block.blockedID, work.sql)
        },
        // A page names both: it is withdrawn with the friendship, and new friends share it again.
        EventHandler(FriendshipEnded.self) { event, work in
            try await CardRepository.withdraw(between: event.userAID, and: event.userBID, work.sql)
        },
        // A page about a circle's streak says that its user is in the circle.
        EventHandler(CircleChanged.self) { event, work in
            guard let circle = event.circle else { return }
            let members = circle.deleted ? [] : circle.members.map(\.userID)
            try await CardRepository.withdraw(ofCircle: event.circleID, exceptOf: members, work.sql)
        },
    ]
}
