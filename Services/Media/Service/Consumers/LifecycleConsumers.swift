internal import AuthAPI
internal import Kernel
internal import Outbox
internal import SocialAPI

/// Whose photos are shown (AU-7, SO-9, PH-6). A profile's status says it whatever the reason: deletion, restoration, suspension, its end.
enum LifecycleConsumers {
    static let all: [EventHandler] = [
        EventHandler(ProfileChanged.self) { event, work in
            guard let profile = event.profile else { return }
            try await OwnerRepository.store(
                try UserID(parsing: event.userID, field: "user_id"),
                version: profile.version,
                isWithheld: profile.status != .active,
                work.sql
            )
        },
        EventHandler(UserBlocked.self) { event, work in
            guard let block = event.block else { return }
            try await CardRepository.withdraw(
                between: try UserID(parsing: block.blockerID, field: "blocker_id"),
                and: try UserID(parsing: block.blockedID, field: "blocked_id"),
                work.sql
            )
        },
        // A page names both: it goes with what it tells of, and friends again share anew.
        EventHandler(FriendshipEnded.self) { event, work in
            try await CardRepository.withdraw(
                between: try UserID(parsing: event.userAID, field: "user_a_id"),
                and: try UserID(parsing: event.userBID, field: "user_b_id"),
                work.sql
            )
        },
    ]
}
