internal import AuthDomain
internal import Bus
internal import Kernel

/// What one client address may ask for without an account whose address is confirmed: registrations, and mails to addresses that it names (AU-13).
struct ClientBudget: Sendable {
    /// nil: no limit.
    let window: SlidingWindow?

    /// What a call counts for; nothing when no client stands behind it.
    func keys(_ context: CallContext) -> [MailLimitRepository.Key] {
        guard let window, let address = context.clientAddress else { return [] }
        return [.client(address, window)]
    }
}
