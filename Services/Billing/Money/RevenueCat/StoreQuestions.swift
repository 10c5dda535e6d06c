internal import BillingDomain
internal import Bus
internal import Database
internal import Kernel
internal import Logging
internal import Outbox

/// Asks the store what users have paid for, and applies it like an event (BI-2): at a user's request, before a subscription that should be renewed
/// ends and after that, and after a transfer.
struct StoreQuestions: Sendable {
    let client: RevenueCatClient
    let events: StoreEvents
    let work: UnitOfWorkFactory
    let database: Database
    let logger: Logger
    private static let lease = Interval.seconds(60)

    /// Asks about users whose time has come. - Returns: how many were found.
    func askDue(now: Instant) async throws -> Int {
        guard client.isOn else { return 0 }
        let due = try await CustomerRepository.leaseAsks(now: now, until: now + Self.lease, limit: 10, database)
        for (user, attempts) in due {
            do {
                let snapshot = try await ask(about: user)
                try await work.run(trace: "", requestID: "store question") { work in try await apply(snapshot, of: user, work) }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                logger.warning("the store could not be asked", metadata: ["user": "\(user)", "error": "\(error)"])
                let later = AskSchedule.retry(Int(attempts) + 1, after: now)
                try await CustomerRepository.postponeAsk(user, until: later, database)
            }
        }
        return due.count
    }

    /// What the store knows of a user. Each spelling of the id is a customer of its own there: apps on iPhones write it in upper case.
    ///
    /// - Throws: as `RevenueCatClient.subscriber`.
    func ask(about user: UserID) async throws -> StoreSnapshot {
        var known = StoreSnapshot(at: nil, subscriptions: [], packs: [])
        for name in try await StoreNameRepository.customers(of: user, database) {
            known.add(try await client.subscriber(name))
        }
        return known
    }

    /// Applies an answer of the store: only what it says differently is stored. Purchases that other services take part in are recorded.
    func apply(_ snapshot: StoreSnapshot, of user: UserID, _ work: UnitOfWork) async throws {
        try await work.sql.lock(named: StoreEvents.lockName)
        try await CustomerRepository.add([user], work.sql)
        try await CustomerRepository.endAsk(user, work.sql)
        _ = try await events.events.wake(user.storeNames, now: work.now, work.sql)
        let at = snapshot.at ?? work.now
        for entry in snapshot.subscriptions where !entry.isSandbox || events.sandbox.accepts(user) {
            try await applySubscription(entry, at: at, of: user, work)
        }
        for entry in snapshot.packs where !entry.isSandbox || events.sandbox.accepts(user) {
            try await applyPack(entry, of: user, work)
        }
        // Also when it has said nothing new: the next question is at another time.
        try await events.entitling.update(user, work)
    }

    private func applySubscription(_ entry: StoreSnapshot.Subscription, at: Instant, of user: UserID, _ work: UnitOfWork)
        async throws
    {
        var event = entry.event
        guard let key = try await key(of: event, user, work) else { return }
        let known = try await SubscriptionRepository.find(event.store, key, work.sql)
        event.at = at
        event.originalTransaction = key
        event.id = "rest:\(user):\(event.store):\(key):\(at.milliseconds)"
        // What the answer does not say is as it was.
        event.givesPremium = event.givesPremium ?? known?.state.givesPremium
        if let known, known.user == user, let said = SubscriptionState.fold([event]), said.isAsGood(as: known.state) { return }
        let (received, body) = try stored(event, of: user, entry, work)
        try await events.events.deleteSnapshots(event.store, key, work.sql)
        guard try await events.events.insert(received, body: body, now: work.now, work.sql) else { return }
        _ = try await events.apply(event.id, [user], work)
    }

    private func applyPack(_ entry: StoreSnapshot.Subscription, of user: UserID, _ work: UnitOfWork) async throws {
        var event = entry.event
        guard !event.isPromotional, let key = event.transactionKey,
            try await events.events.history(event.store, key, work.sql).isEmpty
        else { return }
        // What had no goods and gave nothing before it gave premium is another event.
        event.id = "rest:\(user):\(event.store):\(key)" + (event.isAboutSubscription ? ":premium" : "")
        if event.isAboutSubscription, try await hasLifetime(event, user, work) { return }
        let (received, body) = try stored(event, of: user, entry, work)
        guard try await events.events.insert(received, body: body, now: work.now, work.sql) else { return }
        _ = try await events.apply(event.id, [user], work)
    }

    /// As an event that was received.
    private func stored(_ event: StoreEvent, of user: UserID, _ entry: StoreSnapshot.Subscription, _ work: UnitOfWork) throws
        -> (ReceivedEvent, [UInt8])
    {
        let premium = events.premium
        let body = try SnapshotBody.bytes(of: event, user: user, isSandbox: entry.isSandbox, premium: premium)
        return (try ReceivedEvent(body: body, receivedAt: work.now, premium: premium), body)
    }

    /// Whether the webhook has brought it already, under its original transaction.
    private func hasLifetime(_ event: StoreEvent, _ user: UserID, _ work: UnitOfWork) async throws -> Bool {
        try await SubscriptionRepository.all(of: user, work.sql).contains { known in
            known.store == event.store && known.state.product == event.product && known.state.givesPremium
                && known.state.grants(at: work.now)
        }
    }

    /// REST does not name the original transaction: it is found by the transaction, or else by user, store and product.
    private func key(of event: StoreEvent, _ user: UserID, _ work: UnitOfWork) async throws -> String? {
        guard let product = event.product else { return nil }
        if let transaction = event.transaction, try await SubscriptionRepository.find(event.store, transaction, work.sql) != nil {
            return transaction
        }
        let own = try await SubscriptionRepository.all(of: user, work.sql).filter {
            $0.store == event.store && StoreEvent.plainProduct($0.state.product) == StoreEvent.plainProduct(product)
        }
        let newest = own.max { ($0.state.purchasedAt ?? .epoch) < ($1.state.purchasedAt ?? .epoch) }
        return newest?.key ?? event.transaction ?? "\(user) \(product)"
    }
}

extension StoreSnapshot {
    /// Of what both customers have of one product in one store, what lasts longer counts: the other one is over.
    fileprivate mutating func add(_ other: StoreSnapshot) {
        at = [at, other.at].compactMap { $0 }.max()
        for entry in other.subscriptions {
            let place = subscriptions.firstIndex { $0.isOfProduct(of: entry) }
            if let place {
                if subscriptions[place].end < entry.end { subscriptions[place] = entry }
            } else {
                subscriptions.append(entry)
            }
        }
        packs += other.packs
    }
}

extension StoreSnapshot.Subscription {
    fileprivate var end: Instant { event.expiresAt ?? Instant.writable.upperBound }

    fileprivate func isOfProduct(of other: Self) -> Bool {
        event.store == other.event.store && event.product == other.event.product
    }
}

extension SubscriptionState {
    /// Whether REST says the same as what is known; names of products may lack Google's base plan there.
    fileprivate func isAsGood(as known: SubscriptionState) -> Bool {
        accessUntil == known.accessUntil && givesPremium == known.givesPremium && isUnsubscribed == known.isUnsubscribed
            && hasBillingIssue == known.hasBillingIssue
            && periodType == known.periodType && StoreEvent.isSame(product, known.product)
    }
}
