internal import BillingAPI
internal import Bus
internal import ServiceRuntime

/// BI-3: balances, and the entries of one currency.
struct GetWallet: QueryHandler {
    let wallets: WalletViews

    func handle(_ request: GetWalletRequest, _ context: CallContext) async throws -> Wallet {
        let user = try context.requireUser()
        var list = request
        // The default and the same currency are one list.
        if list.currency == .unspecified { list.currency = .coins }
        return try await wallets.wallet(of: user, list.currency, Page(list, context), withActors: false)
    }
}
