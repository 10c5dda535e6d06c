internal import BillingAPI
internal import BillingDomain
internal import Kernel
internal import ServiceRuntime

extension TokenEntry {
    /// A row as `GET /api/recovery/balance` shows it.
    init(_ row: LedgerRow) {
        self.init(
            id: row.id,
            type: TokenEntryType(rawValue: row.type.rawValue),
            amount: Int32(clamping: row.amount),
            balanceAfter: Int32(clamping: row.balanceAfter),
            streakID: row.streak,
            note: row.note,
            createdAt: row.createdAt
        )
    }
}

extension WalletEntry {
    /// A row as a wallet shows it.
    ///
    /// - Parameter withActor: whether the administrator of a grant is named.
    init(_ row: LedgerRow, withActor: Bool) {
        self.init(
            id: row.id,
            type: WalletEntryType(rawValue: row.type.rawValue),
            amount: row.amount,
            balanceAfter: row.balanceAfter,
            note: row.note,
            actorID: withActor ? row.actor : nil,
            createdAt: row.createdAt
        )
    }
}

/// A user's balances and entries, for the user and for administrators.
struct WalletViews: Sendable {
    let ledger: LedgerRepository

    /// All balances.
    func balances(of user: UserID) async throws -> [WalletBalance] {
        var balances: [WalletBalance] = []
        for currency in LedgerCurrency.allCases {
            balances.append(
                WalletBalance(
                    currency: Currency(rawValue: currency.rawValue),
                    balance: try await ledger.balance(of: user, currency)
                )
            )
        }
        return balances
    }

    /// One page of the entries of a currency with all balances.
    func wallet(of user: UserID, _ currency: Currency, _ page: Page<PageCursor>, withActors: Bool) async throws -> Wallet {
        let currency = LedgerCurrency(rawValue: currency.rawValue) ?? .coins
        let found = try await ledger.entries(
            of: user,
            currency,
            before: page.position.map { ($0.instant, $0.id()) },
            limit: page.limit + 1
        )
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.createdAt, $0.id) }
        return Wallet(
            balances: try await balances(of: user),
            entries: shown.map { WalletEntry($0, withActor: withActors) },
            meta: meta
        )
    }
}
