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
                event.userID,
                version: profile.version,
                isWithheld: profile.status != .active,
                work.sql
            )
        },
        EventHandler(UserBlocked.self) { event, work in
            guard let block = event.block else { return }
            try await CardRepository.withdraw(
                between: block.blockerID,
                and: block.blockedID,
                work.sql
            )
        },
        // A page names both: it is withdrawn with the friendship, and new friends share it again.
        EventHandler(FriendshipEnded.self) { event, work in
            try await CardRepository.withdraw(
                between: event.userAID,
                and: event.userBID,
                work.sql
            )
        },
    ]
}
