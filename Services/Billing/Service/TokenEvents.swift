internal import BillingAPI
internal import Kernel
internal import Outbox

extension UnitOfWork {
    /// Emits the new balance, once.
    ///
    /// - Returns: the balance after the operation; nil when it was refused.
    func balance(after outcome: TokenOutcome, of user: UserID) async throws -> Int32? {
        switch outcome {
        case .posted(let balance, let version):
            try await emit(RecoveryBalanceChanged(userID: user, version: version, balance: balance))
            return balance
        case .known(let balance): return balance
        case .refused: return nil
        }
    }
}
