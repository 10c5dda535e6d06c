internal import BillingDomain
internal import Bus
internal import Kernel
internal import Logging
internal import Outbox

/// Applies events of RevenueCat (BI-1). Each was stored before it was answered; applying it may be repeated.
///
/// A subscription is folded from all its events each time, so their order of arrival does not matter. One event is applied at a time: two of the
/// same subscription may name different users.
struct StoreEvents: Sendable {
    let events: StoreEventRepository
    /// Raised when one was stored.
    let stored = WakeSignal()
    let customers: Customers
    let entitling: Entitling
    let packs: Packs
    let sandbox: SandboxRule
    let premium: PremiumEntitlement
    let work: UnitOfWorkFactory
    let logger: Logger

    /// Applies some events that are due. - Returns: how many were found.
    func applyDue(now: Instant) async throws -> Int {
        let due = try await events.due(now: now, limit: 20)
        for stored in due {
            do { try await apply(stored, CallContext(deadline: SystemClock.now() + .seconds(20))) } catch is CancellationError {
                throw CancellationError()
            } catch {
                logger.warning(
                    "an event of the store could not be applied",
                    metadata: ["event": "\(stored.id)", "error": "\(error)"]
                )
                let later = AskSchedule.retry(Int(stored.attempts) + 1, after: now)
                try await events.postpone(stored.id, until: later, note: "\(error)".withoutNUL)
            }
        }
        return due.count
    }

    private func apply(_ stored: StoredStoreEvent, _ context: CallContext) async throws {
        let ours = try await customers.ours(Set(stored.names.compactMap { UserID($0) }), context: context)
        let pending = try await work.run(context) { work -> [PurchaseID] in
            try await work.sql.lock(named: Self.lockName)
            return try await apply(stored.id, ours, work)
        }
        // Recorded: the job continues when this does not.
        for purchase in pending { _ = try? await packs.purchases.end(of: purchase, context: context) }
    }

    /// The lock of all that apply events.
    static let lockName = "store events"

    /// - Returns: purchases with steps that other services take part in.
    func apply(_ id: String, _ ours: Set<UserID>, _ work: UnitOfWork) async throws -> [PurchaseID] {
        guard let stored = try await events.lock(id, work.sql) else { return [] }
        let received = try ReceivedEvent(body: stored.body, receivedAt: stored.receivedAt, premium: premium)
        let names = Names(ours: ours, aliases: try await StoreNameRepository.users(received.names, work.sql))
        let user = names.user(of: received.names)
        // Also those of the sandbox are customers there.
        try await StoreNameRepository.addSpellings(names.spellings(in: received.names), work.sql)
        guard !received.isSandbox || sandbox.mayAccept(user) else {
            try await events.setIgnored(id, note: "of the sandbox", work.sql)
            return []
        }
        if received.event.kind == .transfer { return try await transfer(received, names, work) }
        guard let user else {
            try await events.setWaiting(id, work.sql)
            return []
        }
        try await learn(received.names, of: user, work)
        let (event, key) = (received.event, received.event.transactionKey)
        let isFolded = key != nil && (event.isAboutSubscription || event.isAboutPack)
        try await events.setApplied(id, user: user, store: isFolded ? event.store : nil, key: isFolded ? key : nil, work.sql)
        if [.alias, .redeemed].contains(event.kind), entitling.asks {
            try await CustomerRepository.ask([user], now: work.now, work.sql)
        }
        guard let key, isFolded else { return [] }
        // What a refund is of need not be in it.
        try await fold(event.store, key, work)
        guard event.isAboutPack else { return [] }
        return try await packs.update(event.store, key, of: user, work).map { [$0] } ?? []
    }

    /// Names that are no ids of users belong to this user from now on; what waited for them is applied.
    private func learn(_ names: [String], of user: UserID, _ work: UnitOfWork) async throws {
        let foreign = names.filter { UserID($0) == nil }
        let new = foreign.isEmpty ? [] : try await StoreNameRepository.add(foreign, of: user, work.sql)
        _ = try await events.wake(new + user.storeNames, now: work.now, work.sql)
    }

    /// Moves all that users had to another, and has the store asked about both (BI-1). What of packs is unused moves as soon as the other
    /// side is known.
    ///
    /// - Returns: purchases with steps that other services take part in.
    private func transfer(_ received: ReceivedEvent, _ names: Names, _ work: UnitOfWork) async throws -> [PurchaseID] {
        let from = Set(received.transferredFrom.compactMap { names.user(of: [$0]) })
        let to = names.user(of: received.transferredTo)
        for user in from.sorted() where user != to {
            try await StoreNameRepository.move(received.event.id, from: user, to: to, at: received.event.at, work.sql)
        }
        if let to, !received.transferredTo.isEmpty { try await learn(received.transferredTo, of: to, work) }
        if to == nil {
            // The users lose it now; it is applied again when the other side is known.
            try await events.setWaiting(received.event.id, work.sql)
        } else {
            try await events.setApplied(received.event.id, user: to, store: nil, key: nil, work.sql)
        }
        // Also what a later transfer, which came before this one, has taken elsewhere or to a user who is not known.
        let sources = try await Owners.sources(of: from, work.sql)
        var pending: [PurchaseID] = []
        for (store, key) in try await events.transactions(of: sources.sorted(), work.sql) {
            try await fold(store, key, work)
            if let purchase = try await packs.move(store, key, work) { pending.append(purchase) }
        }
        let both = (from.sorted() + (to.map { [$0] } ?? []))
        guard entitling.asks, !both.isEmpty else { return pending }
        try await CustomerRepository.add(both, work.sql)
        try await CustomerRepository.ask(both, now: work.now, work.sql)
        return pending
    }

    /// Folds a subscription from all its events, and works out what its owners have by it. Nothing happens when the transaction is none.
    func fold(_ store: String, _ key: String, _ work: UnitOfWork) async throws {
        let history = try await events.history(store, key, work.sql)
        let received = try history.map {
            ($0, try ReceivedEvent(body: $0.body, receivedAt: $0.receivedAt, premium: premium).event)
        }
        guard let state = SubscriptionState.fold(received.map(\.1)) else { return }
        let owner = try await Owners.owner(received.map { (stored: $0, event: $1) }, work.sql)
        let before = try await SubscriptionRepository.find(store, key, work.sql)?.user
        try await SubscriptionRepository.store(state, store, key, of: owner, work.sql)
        for user in Set([before, owner].compactMap { $0 }).sorted() { try await entitling.update(user, work) }
    }

    /// Who is meant by names.
    private struct Names {
        let ours: Set<UserID>
        let aliases: [String: UserID]

        /// Ids of users as RevenueCat has written them: to it an upper-case one is another than a lower-case one.
        func spellings(in names: [String]) -> [(name: String, user: UserID)] {
            names.compactMap { name in UserID(name).flatMap { ours.contains($0) ? (name, $0) : nil } }
        }

        /// The user of the first name that is one.
        func user(of names: [String]) -> UserID? {
            for name in names {
                if let id = UserID(name), ours.contains(id) { return id }
                if let user = aliases[name] { return user }
            }
            return nil
        }
    }
}

extension UserID {
    /// As events that wait may name it: Swift writes ids in upper case.
    var storeNames: [String] { [description, description.uppercased()] }
}

extension String {
    /// As a database holds it.
    fileprivate var withoutNUL: String { String(String.UnicodeScalarView(unicodeScalars.filter { $0.value != 0 }.prefix(500))) }
}
