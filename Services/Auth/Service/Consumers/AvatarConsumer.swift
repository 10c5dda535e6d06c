internal import AuthAPI
internal import Kernel
internal import MediaAPI
internal import Outbox

extension AuthService {
    /// The avatar is part of the profile: what media stored is told to everybody from here (AU-10).
    var avatarHandler: EventHandler {
        EventHandler(AvatarChanged.self) { [self] event, work in
            let user = try UserID(parsing: event.userID, field: "user_id")
            guard
                let account = try await accounts.store(
                    avatar: event.avatarKey,
                    version: event.version,
                    of: user,
                    now: work.now,
                    work.sql
                )
            else { return }
            try await work.emit(ProfileChanged(userID: event.userID, profile: account.profileState))
        }
    }
}
