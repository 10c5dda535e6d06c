internal import BillingAPI
internal import BillingDomain
internal import Kernel
internal import Outbox

/// Keeps what all subscriptions of a user come to, and emits each change of it (BI-2).
struct Entitling: Sendable {
    let ledger: LedgerRepository
    /// Whether there is a store that can be asked about renewals.
    let asks: Bool

    /// Works out a user's entitlement at the instant of the unit of work; emits it when it has changed, posts the bonus of each month that has
    /// begun (RC-1), and notes when something changes by itself.
    func update(_ user: UserID, _ work: UnitOfWork) async throws {
        var customer = try await CustomerRepository.lock(user, work.sql)
        let stored = try await SubscriptionRepository.all(of: user, work.sql)
        let entitlement = Entitlement(stored.map(\.state), at: work.now)
        try await postBonuses(&customer, of: user, stored, entitlement, work)
        let until = entitlement.isPremium ? entitlement.accessUntil : nil
        let isChanged = (customer.isPremium, customer.isPremium ? customer.accessUntil : nil) != (entitlement.isPremium, until)
        customer.isPremium = entitlement.isPremium
        customer.accessUntil = entitlement.accessUntil
        if customer.askAt.map({ $0 > work.now }) ?? true {
            customer.askAt = nil
            if asks, let shown = entitlement.shown, shown.willRenew, let end = shown.accessUntil {
                customer.askAt = AskSchedule.next(end: end, after: work.now)
            }
        }
        if isChanged { customer.version += 1 }
        try await CustomerRepository.store(customer, of: user, dueAt: dueAt(customer, until, work.now), work.sql)
        guard isChanged else { return }
        try await work.emit(
            EntitlementsChanged(
                userID: user,
                version: customer.version,
                plan: entitlement.isPremium ? .premium : .free,
                expiresAt: until,
                changedAt: work.now
            )
        )
    }

    /// When premium ends or the next month begins, whichever is first.
    private func dueAt(_ customer: Customer, _ until: Instant?, _ now: Instant) -> Instant? {
        guard customer.isPremium else { return nil }
        let bonus = customer.paidBy == nil ? nil : customer.bonusMonth.map { BonusRule.start(of: $0) }
        return [until, bonus].compactMap { $0 }.min()
    }

    private func postBonuses(
        _ customer: inout Customer,
        of user: UserID,
        _ stored: [StoredSubscription],
        _ entitlement: Entitlement,
        _ work: UnitOfWork
    ) async throws {
        let paying = entitlement.bonusIndex.map { stored[$0] }
        let months = BonusRule.months(
            next: customer.bonusMonth,
            paidUntil: customer.paidBy == nil ? nil : customer.paidUntil ?? Instant.writable.upperBound,
            isPaid: paying != nil,
            now: work.now
        )
        for month in months {
            guard let paid = paying.map({ ($0.store, $0.key) }) ?? customer.paidBy else { continue }
            guard try await CustomerRepository.addBonus(month, of: user, by: (paid.0, paid.1), work.sql) else { continue }
            let posting = Posting(
                user: user,
                type: .bonus,
                amount: 1,
                against: .bonuses,
                note: "Premium in \(BonusRule.text(of: month))",
                key: "bonus \(BonusRule.text(of: month))"
            )
            try await work.post(posting, ledger)
        }
        if paying != nil || customer.bonusMonth != nil {
            let present = BonusRule.month(of: work.now)
            let isDecided = months.contains(present)
            customer.bonusMonth = max(customer.bonusMonth ?? 0, isDecided ? present + 1 : present)
        }
        customer.paidBy = paying.map { ($0.store, $0.key) }
        customer.paidUntil = paying?.state.accessUntil
    }
}
