internal import AuthAPI
internal import Kernel
internal import MediaAPI
internal import Outbox

extension AuthService {
    /// The avatar is part of the profile: what media stored is emitted to all services from here (AU-10).
    var avatarHandler: EventHandler {
        EventHandler(AvatarChanged.self) { [self] event, work in
            let user = event.userID
            guard
                let account = try await accounts.store(
                    avatar: event.avatarKey,
                    version: event.version,
                    of: user,
                    now: work.now,
                    work.sql
                )
            else { return }
            try await work.emit(ProfileChanged(userID: user.description, profile: account.profileState))
        }
    }
}
