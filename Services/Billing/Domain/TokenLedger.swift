public import Kernel

/// The ledger of a user's recovery tokens (RC-1): the balance is the sum of all rows and never negative.
public enum TokenLedger {
    /// Why a row was written; the numbers are the proto's.
    public enum EntryType: Int32, Hashable, Sendable {
        case earned = 1
        case purchased = 2
        case used = 3
        case refunded = 4
        case bonus = 5
    }

    /// The balance after a posting.
    ///
    /// - Parameters:
    ///   - balance: tokens in hand before it.
    ///   - amount: positive to give, negative to take.
    /// - Throws: `NO_RECOVERY_TOKENS` when it would become negative.
    public static func balance(after amount: Int32, from balance: Int32) throws(ServiceError) -> Int32 {
        let (sum, overflow) = balance.addingReportingOverflow(amount)
        guard !overflow, sum >= 0 else { throw .noTokens }
        return sum
    }
}

extension ServiceError {
    /// `NO_RECOVERY_TOKENS` (RC-2).
    public static let noTokens = ServiceError(.failedPrecondition, "NO_RECOVERY_TOKENS", "There is no recovery token left.")
}

/// What the plans allow (MS-1).
public enum PlanLimits {
    /// Active mutual streaks; nil means unlimited.
    public static func streakLimit(isPremium: Bool) -> Int32? { isPremium ? nil : 3 }
}
