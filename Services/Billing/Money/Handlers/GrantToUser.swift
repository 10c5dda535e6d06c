internal import BillingAPI
internal import BillingDomain
internal import Bus
internal import Kernel
internal import Logging
internal import Outbox
internal import ServiceRuntime

/// BI-3: a grant or a reversal by an administrator, with the reason and who did it, in the ledger, in the log and in the audit log.
struct GrantToUser: MutationHandler {
    let ledger: LedgerRepository
    let customers: Customers
    let mutations: Mutations
    let logger: Logger

    func handle(_ request: GrantToUserRequest, _ context: CallContext) async throws -> Once<GrantToUserReply> {
        let admin = try context.requireAdmin()
        guard try await customers.ours([request.userID], context: context).contains(request.userID) else {
            throw ServiceError.notFound("user")
        }
        return try await mutations.once(context, request) { [ledger, logger] work in
            let (posting, currency) = try await posting(for: request, by: admin, work)
            guard let posted = try await work.post(posting, ledger),
                let row = try await ledger.find(posted.id, of: request.userID, work.sql)?.row
            else { throw ServiceError.alreadyReversed }
            logger.notice(
                "an administrator has changed a wallet",
                metadata: [
                    "user": "\(request.userID)", "admin": "\(admin)", "currency": "\(currency)", "amount": "\(posting.amount)",
                    "entry": "\(posted.id)", "reason": "\(request.reason)", "request_id": "\(context.requestID)",
                ]
            )
            let change = "\(posting.amount) \(currency): \(request.reason)"
            try await work.emit(BillingAdminActed(.changeWallet, of: request.userID, by: admin, change, context, work))
            return GrantToUserReply(
                entry: WalletEntry(row, withActor: true),
                balance: WalletBalance(currency: Currency(rawValue: currency.rawValue), balance: posted.balance)
            )
        }
    }

    func problems(of request: GrantToUserRequest) -> [ServiceError.Detail] {
        request.reverses == nil ? FieldCheck.problems { _ = try Self.currency(request) } : []
    }

    /// - Throws: `VALIDATION_ERROR` with an entry for each field that is wrong.
    private static func currency(_ request: GrantToUserRequest) throws -> LedgerCurrency {
        var check = FieldCheck()
        let currency = LedgerCurrency(rawValue: request.currency.rawValue)
        check.require(currency != nil, "currency", "must be coins or recovery_tokens")
        check.require(request.amount != 0, "amount", "must not be 0")
        try check.finish()
        guard let currency else { throw ServiceError.internal }
        return currency
    }

    private func posting(for request: GrantToUserRequest, by admin: UserID, _ work: UnitOfWork) async throws
        -> (Posting, LedgerCurrency)
    {
        if let reversed = request.reverses {
            guard let (row, currency) = try await ledger.find(reversed, of: request.userID, work.sql), row.type == .granted else {
                throw ServiceError.notFound("grant")
            }
            let posting = Posting(
                user: request.userID,
                currency: currency,
                type: .granted,
                amount: -row.amount,
                against: .grants,
                actor: admin,
                reverses: reversed,
                note: request.reason,
                key: "reversed \(reversed)"
            )
            return (posting, currency)
        }
        let currency = try Self.currency(request)
        let id: LedgerEntryID = work.ids.make()
        let posting = Posting(
            user: request.userID,
            currency: currency,
            type: .granted,
            amount: request.amount,
            against: .grants,
            actor: admin,
            note: request.reason,
            key: "granted \(id)"
        )
        return (posting, currency)
    }
}

extension ServiceError {
    static let alreadyReversed = ServiceError(.alreadyExists, "ALREADY_REVERSED", "This grant was taken back before.")
}
