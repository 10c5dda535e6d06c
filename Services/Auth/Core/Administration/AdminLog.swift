package import Bus
package import CommonAPI
package import Database
package import Kernel
package import Outbox

/// Adds entries to the audit log: of changes in the transaction that makes them, of reading before the reply.
package struct AdminLog: Sendable {
    let database: Database
    let clock: any Clock
    let ids: any IDSource

    package init(database: Database, clock: any Clock, ids: any IDSource) {
        (self.database, self.clock, self.ids) = (database, clock, ids)
    }

    /// Notes whose details an administrator is about to be shown.
    package func note(
        _ kind: AdminActionKind,
        of users: [UserID],
        by admin: UserID,
        detail: String = "",
        _ context: CallContext
    ) async throws {
        let now = clock.now()
        let actions = users.map { user in
            AdminAction(
                id: ids.make(),
                admin: admin,
                kind: kind,
                subject: user,
                detail: detail,
                takenAt: now,
                requestID: context.requestID
            )
        }
        try await AdminActionRepository.insert(actions, database)
    }

    /// Notes what an administrator does in a transaction.
    ///
    /// - Parameter user: about whom; nil when it is about no user.
    package static func note(
        _ kind: AdminActionKind,
        of user: UserID?,
        by admin: UserID,
        _ detail: String = "",
        _ context: CallContext,
        _ work: UnitOfWork
    ) async throws {
        try await note(kind, of: user, by: admin, detail, requestID: context.requestID, work)
    }

    /// The same of what is done without a caller at hand: the request is the transaction's.
    package static func note(
        _ kind: AdminActionKind,
        of user: UserID?,
        by admin: UserID,
        _ detail: String,
        _ work: UnitOfWork
    ) async throws { try await note(kind, of: user, by: admin, detail, requestID: work.requestID, work) }

    private static func note(
        _ kind: AdminActionKind,
        of user: UserID?,
        by admin: UserID,
        _ detail: String,
        requestID: String,
        _ work: UnitOfWork
    ) async throws {
        let action = AdminAction(
            id: work.ids.make(),
            admin: admin,
            kind: kind,
            subject: user,
            detail: detail,
            takenAt: work.now,
            requestID: requestID
        )
        try await AdminActionRepository.insert([action], work.sql)
    }
}
