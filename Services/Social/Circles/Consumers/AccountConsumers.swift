internal import AuthAPI
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialCore

/// A user whose account is deleted or banned is in no circle any more (AU-7, SO-9). A suspended one stays, and is not shown.
struct AccountConsumers: Sendable {
    let changes: CircleChanges

    var handlers: [EventHandler] {
        [
            EventHandler(AccountDeleted.self) { event, work in
                let left = try await changes.leaveAll(event.userID, work)
                guard let deletedAt = event.deletedAt else { return }
                try await EndedTies.note(left, .circles, of: event.userID, deletedAt: deletedAt, work.sql)
            },
            EventHandler(ProfileChanged.self) { event, work in
                guard let profile = event.profile, profile.status == .banned else { return }
                try await changes.leaveAll(profile.userID, work)
            },
        ]
    }
}
