internal import AuthCore
internal import AuthDomain
internal import CommonAPI
internal import Kernel
internal import Outbox
internal import SocialAPI

/// Carries out what an administrator decided in `social`, each decision once (SO-9), and adds it to the audit log. Warnings change no account.
struct ModerationConsumer: Sendable {
    let lifecycle: AccountLifecycle

    var handler: EventHandler {
        EventHandler(ModerationActionTaken.self) { event, work in
            try await note(event, work)
            guard event.action == .suspend || event.action == .ban else { return }
            let user = event.userID
            let action = event.actionID.cast(to: Tag.Operation.self)
            // An account that was purged cannot be shut any more.
            guard var life = try await lifecycle.repository.lock(user, work.sql) else { return }
            let takenAt = event.takenAt ?? work.now
            let until = event.action == .suspend ? event.until ?? takenAt + AccountLife.suspension : nil
            let kind = event.action.rawValue
            guard try await ModerationRepository.insert(action, kind, of: user, takenAt: takenAt, until: until, work.sql) else {
                return
            }
            let before = life
            if let until { life.suspend(until: until, now: work.now) } else { life.ban(at: takenAt) }
            guard life != before else { return }
            // A longer suspension finds no open session, and a deleted account has none already.
            try await lifecycle.change(user, to: life, signOut: life.status != before.status, work)
        }
    }

    /// The decision comes into the audit log of administrators, whatever it is.
    private func note(_ event: ModerationActionTaken, _ work: UnitOfWork) async throws {
        let action = AdminAction(
            id: event.actionID.cast(to: Tag.AdminAction.self),
            admin: event.moderatorID,
            kind: .decideReport,
            subject: event.userID,
            detail: "\(event.action) on report \(event.reportID)",
            takenAt: event.takenAt ?? work.now,
            requestID: work.requestID
        )
        try await AdminActionRepository.insert([action], work.sql)
    }
}
