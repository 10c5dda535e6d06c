internal import AuthCore
internal import Kernel
internal import MediaAPI
internal import Outbox

/// Stores the avatar that media has made, and emits it as part of the profile (AU-10).
struct AvatarConsumer: Sendable {
    let writer: AccountWriter

    var handler: EventHandler {
        EventHandler(AvatarChanged.self) { event, work in
            try await writer.store(avatar: event.avatarKey, version: event.version, of: event.userID, work)
        }
    }
}
