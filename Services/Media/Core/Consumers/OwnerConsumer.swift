internal import AuthAPI
internal import Outbox

/// Whose photos are shown (AU-7, SO-9, PH-6). A profile's status says it whatever the reason: deletion, restoration, suspension, its end.
enum OwnerConsumer {
    static let handler = EventHandler(ProfileChanged.self) { event, work in
        guard let profile = event.profile else { return }
        try await OwnerRepository.store(
            event.userID,
            version: profile.version,
            isWithheld: profile.status != .active,
            work.sql
        )
    }
}
