public import Kernel

/// What a wallet holds (BI-3); the numbers are the proto's.
public enum LedgerCurrency: Int32, Hashable, Sendable, CaseIterable {
    case coins = 1
    case recoveryTokens = 2
}

/// Why a transaction was posted; the numbers are the proto's.
public enum EntryType: Int32, Hashable, Sendable, CaseIterable {
    case earned = 1
    case purchased = 2
    case used = 3
    case refunded = 4
    case bonus = 5
    case granted = 6
}

/// The accounts of the system: where what users receive comes from, and where what they spend goes. Each has a part for each user and
/// currency, so that postings of different users never wait for each other.
public enum SystemAccount: Int32, Hashable, Sendable, CaseIterable {
    /// Earned by streaks (RC-1).
    case earnings = 1
    /// Sold for money or coins.
    case sales = 2
    /// Spent, on a recovery or in the store.
    case uses = 3
    /// Given with premium.
    case bonuses = 4
    /// Given by administrators.
    case grants = 5
}

/// The double-entry ledger (BI-3): every transaction has two postings that add up to zero, one to a user's account and one to an account of the
/// system. So the sum over all accounts is zero.
public enum Ledger {
    /// The balance of a user's account after a posting.
    ///
    /// - Parameters:
    ///   - amount: positive to give, negative to take.
    ///   - balance: what there is before it.
    /// - Throws: `NO_RECOVERY_TOKENS` or `NOT_ENOUGH_COINS` when it would become negative.
    public static func balance(after amount: Int64, from balance: Int64, of currency: LedgerCurrency) throws(ServiceError)
        -> Int64
    {
        let (sum, overflow) = balance.addingReportingOverflow(amount)
        guard !overflow, sum >= 0 else { throw shortage(of: currency) }
        return sum
    }

    /// How much of an amount can be taken back from a balance (BI-5): the rest was spent.
    public static func takeBack(_ amount: Int64, from balance: Int64) -> (taken: Int64, missing: Int64) {
        let taken = min(max(0, amount), max(0, balance))
        return (taken, max(0, amount) - taken)
    }

    /// The refusal of what cannot be paid.
    public static func shortage(of currency: LedgerCurrency) -> ServiceError {
        switch currency {
        case .coins: .notEnoughCoins
        case .recoveryTokens: .noTokens
        }
    }
}

extension ServiceError {
    /// `NO_RECOVERY_TOKENS` (RC-2).
    public static let noTokens = ServiceError(.failedPrecondition, "NO_RECOVERY_TOKENS", "There is no recovery token left.")
    /// `NOT_ENOUGH_COINS` (BI-4).
    public static let notEnoughCoins = ServiceError(.failedPrecondition, "NOT_ENOUGH_COINS", "There are not enough coins.")
}

/// What the plans allow (MS-1).
public enum PlanLimits {
    /// Active mutual streaks; nil means unlimited.
    public static func streakLimit(isPremium: Bool) -> Int32? { isPremium ? nil : 3 }
}
