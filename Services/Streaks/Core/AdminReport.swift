package import Bus
package import CommonAPI
package import Kernel
package import Outbox
internal import StreaksAPI

/// Emits what an administrator does here, for the audit log, which lies in `auth`.
package enum AdminReport {
    /// One entry for each user that it is about.
    package static func emit(
        _ kind: AdminActionKind,
        of users: [UserID],
        by admin: UserID,
        _ detail: String,
        _ context: CallContext,
        _ work: UnitOfWork
    ) async throws {
        for user in users {
            try await work.emit(
                StreaksAdminActed(
                    actionID: work.ids.make(),
                    adminID: admin,
                    kind: kind,
                    userID: user,
                    detail: detail,
                    takenAt: work.now,
                    requestID: context.requestID
                )
            )
        }
    }
}
