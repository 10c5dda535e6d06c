internal import BillingAPI
internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// BI-3: a user's wallet as administrators see it, noted for the audit log. Empty for an unknown user.
struct GetUserWallet: QueryHandler {
    let wallets: WalletViews
    let work: UnitOfWorkFactory

    func handle(_ request: GetUserWalletRequest, _ context: CallContext) async throws -> Wallet {
        let admin = try context.requireAdmin()
        var list = request
        if list.currency == .unspecified { list.currency = .coins }
        try await work.run(context) { work in
            try await work.emit(BillingAdminActed(.readWallet, of: request.userID, by: admin, "", context, work))
        }
        return try await wallets.wallet(of: request.userID, list.currency, Page(list, context), withActors: true)
    }
}
