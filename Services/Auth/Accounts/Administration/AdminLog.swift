internal import AuthAPI
internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import Outbox

/// Adds entries to the audit log: of changes in the transaction that makes them, of reading before the reply.
struct AdminLog: Sendable {
    let database: Database
    let clock: any Clock
    let ids: any IDSource

    /// Notes whose details an administrator is about to be shown.
    func note(_ kind: AdminActionKind, of users: [UserID], by admin: UserID, _ context: CallContext) async throws {
        let now = clock.now()
        let actions = users.map { user in
            AdminAction(id: ids.make(), admin: admin, kind: kind, subject: user, takenAt: now, requestID: context.requestID)
        }
        try await AdminActionRepository.insert(actions, database)
    }

    /// Notes what an administrator does in a transaction.
    static func note(
        _ kind: AdminActionKind,
        of user: UserID,
        by admin: UserID,
        _ detail: String = "",
        _ context: CallContext,
        _ work: UnitOfWork
    ) async throws {
        let action = AdminAction(
            id: work.ids.make(),
            admin: admin,
            kind: kind,
            subject: user,
            detail: detail,
            takenAt: work.now,
            requestID: context.requestID
        )
        try await AdminActionRepository.insert([action], work.sql)
    }
}
