internal import BillingDomain
internal import Kernel
internal import Runtime
internal import ServiceRuntime

/// What billing does when it is due.
struct BillingJobs {
    let events: StoreEvents
    let questions: StoreQuestions
    let purchases: Purchases
    let client: RevenueCatClient
    let environment: ServiceEnvironment

    var all: [Job] { [storeEvents, entitlements, storeQuestions, storeDeletions, unfinishedPurchases, ledgerSums] }

    private var storeEvents: Job {
        // Often: a user has just paid, and waits.
        Job(
            "store_events",
            every: .seconds(1),
            wokenBy: events.stored,
            oldestDue: { [events] in try await events.events.oldestDue() }
        ) { [events] now in try await events.applyDue(now: now) }
    }

    /// Premium that ends, and months that begin (BI-2, RC-1).
    private var entitlements: Job {
        let (database, work, entitling) = (environment.database, environment.work, events.entitling)
        return Job(
            "entitlements",
            every: .seconds(1),
            oldestDue: { try await CustomerRepository.oldestDue(database) }
        ) { now in
            try await work.run(trace: "", requestID: "entitlements") { work in
                let due = try await CustomerRepository.lockDue(now: now, limit: 100, work.sql)
                for user in due { try await entitling.update(user, work) }
                return due.count
            }
        }
    }

    private var storeQuestions: Job {
        let (questions, client, database) = (questions, client, environment.database)
        return Job(
            "store_questions",
            every: .seconds(1),
            oldestDue: { client.isOn ? try await CustomerRepository.oldestAsk(database) : nil }
        ) { now in try await questions.askDue(now: now) }
    }

    /// Customers of purged accounts are deleted at the store too (AU-7).
    private var storeDeletions: Job {
        let (client, database, logger) = (client, environment.database, environment.logger)
        return Job(
            "store_deletions",
            every: .seconds(10),
            oldestDue: { client.isOn ? try await CustomerRepository.oldestDeletion(database) : nil }
        ) { now in
            guard client.isOn else { return 0 }
            let due = try await CustomerRepository.leaseDeletions(now: now, until: now + .minutes(2), database)
            for deletion in due {
                do {
                    for name in deletion.names { try await client.delete(name) }
                    try await CustomerRepository.endDeletion(deletion.user, database)
                } catch is CancellationError {
                    throw CancellationError()
                } catch {
                    logger.warning("a customer could not be deleted at the store", metadata: ["error": "\(error)"])
                    let later = AskSchedule.retry(Int(deletion.attempts), after: now)
                    try await CustomerRepository.postponeDeletion(deletion.user, until: later, database)
                }
            }
            return due.count
        }
    }

    private var unfinishedPurchases: Job {
        let purchases = purchases
        return Job("unfinished_purchases", every: .seconds(2), oldestDue: { try await purchases.repository.oldestStranded() }) {
            _ in
            try await purchases.sweep()
        }
    }

    /// The sum over all accounts, for the metric: other than 0 is an error in the books (BI-3).
    private var ledgerSums: Job {
        let (ledger, metrics, logger) = (purchases.ledger, environment.metrics, environment.logger)
        return Job("ledger_sums", every: .seconds(60)) { _ in
            for (currency, sum) in try await ledger.sums() {
                metrics.gauge(
                    "streaksnap_ledger_imbalance",
                    [("currency", currency == .coins ? "coins" : "recovery_tokens")],
                    help: "The sum over all accounts of the ledger: 0."
                ).set(Int(sum))
                if sum != 0 { logger.critical("the ledger does not add up to zero", metadata: ["sum": "\(sum)"]) }
            }
            return 0
        }
    }
}
