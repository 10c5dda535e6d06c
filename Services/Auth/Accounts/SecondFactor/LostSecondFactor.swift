internal import AuthAPI
package import AuthCore
internal import CommonAPI
internal import Kernel
internal import NotificationsAPI
package import Outbox

/// What an operator does about a phone that was lost together with the recovery codes.
package enum LostSecondFactor {
    /// Who the audit log says an operator is: no account has this id.
    static let operatorID = UserID(high: 0, low: 0)

    /// Removes the second factor of a locked account, with an entry of the audit log and a mail to the owner. Its sessions are the caller's to end.
    ///
    /// - Returns: false when it had none.
    package static func remove(of account: Account, _ work: UnitOfWork) async throws -> Bool {
        guard try await SecondFactorRepository.delete(account.id, work.sql) else { return false }
        let detail = "by an operator, with the command remove-second-factor"
        try await AdminLog.note(.removeSecondFactor, of: account.id, by: operatorID, detail, work)
        try await AccountMails.note(account, .secondFactorRemoved, work)
        return true
    }
}
