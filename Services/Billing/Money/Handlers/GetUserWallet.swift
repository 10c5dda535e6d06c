internal import BillingAPI
internal import Bus
internal import ServiceRuntime

/// BI-3: a user's wallet as administrators see it. Empty for an unknown user.
struct GetUserWallet: QueryHandler {
    let wallets: WalletViews

    func handle(_ request: GetUserWalletRequest, _ context: CallContext) async throws -> Wallet {
        _ = try context.requireAdmin()
        var list = request
        if list.currency == .unspecified { list.currency = .coins }
        return try await wallets.wallet(of: request.userID, list.currency, Page(list, context), withActors: true)
    }
}
