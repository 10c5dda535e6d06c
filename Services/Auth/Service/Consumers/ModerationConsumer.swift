internal import AuthAPI
internal import AuthDomain
internal import Kernel
internal import Outbox
internal import SocialAPI

extension AuthService {
    /// SO-9: what an administrator decided in `social` is carried out here, each decision once. Warnings change no account.
    var moderationHandler: EventHandler {
        EventHandler(ModerationActionTaken.self) { [self] event, work in
            guard event.action == .suspend || event.action == .ban else { return }
            let user = event.userID
            let action = event.actionID.cast(to: Tag.Operation.self)
            // An account that is gone for good cannot be shut any more.
            guard var life = try await lifecycle.lock(user, work.sql) else { return }
            let takenAt = event.takenAt ?? work.now
            let until = event.action == .suspend ? event.until ?? takenAt + AccountLife.suspension : nil
            let kind = event.action.rawValue
            guard try await lifecycle.note(action, kind, of: user, takenAt: takenAt, until: until, work.sql) else { return }
            let before = life
            if let until { life.suspend(until: until, now: work.now) } else { life.ban(at: takenAt) }
            guard life != before else { return }
            // A longer suspension signs out nobody new, and a deleted account is signed out already.
            try await change(user, to: life, signOut: life.status != before.status, work)
        }
    }
}
