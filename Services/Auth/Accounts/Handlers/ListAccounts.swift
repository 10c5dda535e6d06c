internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Searches accounts for an administrator. No account is shown whose entry in the audit log is not stored.
struct ListAccounts: QueryHandler {
    let accounts: AccountSearchRepository
    let log: AdminLog

    func handle(_ request: ListAccountsRequest, _ context: CallContext) async throws -> ListAccountsReply {
        let admin = try context.requireAdmin()
        let page = try Page<AccountListPlace>(request, context)
        let search = AccountSearch(request.q ?? "")
        let found = try await accounts.accounts(search, after: page.position?.place, limit: page.limit + 1)
        let (shown, meta) = page.entries(found) { AccountListPlace($0) }
        try await log.note(.listAccount, of: shown.map(\.account.id), by: admin, context)
        return ListAccountsReply(accounts: shown.map { AccountEntry($0.account) }, meta: meta)
    }
}
