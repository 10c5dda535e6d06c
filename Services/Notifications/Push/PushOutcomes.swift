internal import Kernel
internal import Logging
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox

/// Stores what the provider says of pushes, and shows the operator what is wrong.
struct PushOutcomes: Sendable {
    /// The shortest pause of a device that gets too many pushes; doubled each time, at most a day.
    static let shortestPause = Interval.minutes(5)

    let core: NotificationsCore
    let work: UnitOfWorkFactory
    let ids: any IDSource
    let logger: Logger
    /// Our project's name at the provider; empty: not set.
    let project: String

    /// Errors that concern one device or push; all others are the operator's to mend.
    private static let ordinary: Set = ["DeviceNotRegistered", "MessageRateExceeded"]

    /// Shows what a plan dropped.
    func note(_ plan: PushPlan) {
        for drop in plan.drops { core.metrics.dropped(drop.kind, drop.reason) }
        core.metrics.reached("failed", reason: "NoAnswer", count: plan.unanswered)
    }

    /// - Parameter tickets: as many as pushes, in their order.
    func store(_ tickets: [ExpoTicket], of pushes: [Push]) async throws {
        var failures: [String: Int] = [:]
        for ticket in tickets where !ticket.isOK { failures[ticket.error, default: 0] += 1 }
        let ids = ids
        try await work.run(trace: "", requestID: "") { work in
            var (results, unknown, paused): ([DeliveryResult], [DeviceID: Instant], [DeviceID: Instant]) = ([], [:], [:])
            var deliveries: [ClaimedDelivery] = []
            for (push, ticket) in zip(pushes, tickets) {
                var delivery = push.delivery
                defer { deliveries.append(delivery) }
                if ticket.isOK {
                    delivery.life.note(.accepted)
                    // Without a ticket there is no receipt to ask for.
                    let due = ticket.id.map { _ in work.now + ReceiptRule.first }
                    results.append(
                        DeliveryResult(delivery, dueAt: due, isAnswered: true, ticket: ticket.id, sentAt: work.now)
                    )
                } else if ticket.error == "MessageRateExceeded" {
                    delivery.life.note(.notAccepted)
                    let until = work.now + Self.pause(slowed: push.slowed, random: ids.fraction())
                    paused[delivery.device] = until
                    results.append(DeliveryResult(delivery, dueAt: until, isAnswered: true))
                } else {
                    delivery.life.note(.refused)
                    if ticket.error == "DeviceNotRegistered" { unknown[delivery.device] = work.now }
                    results.append(DeliveryResult(delivery, dueAt: nil, isAnswered: true, reason: ticket.error))
                }
            }
            let stored = try await DeliveryRepository.store(results, from: .queued, work.sql)
            try await DeviceRepository.remove(unknown: unknown, work.sql)
            try await DeviceRepository.pause(paused, work.sql)
            try await work.emitSteps(of: deliveries, stored: stored)
            try await ProviderRepository.noteSuccess(work.sql)
        }
        core.metrics.reached("sent", count: tickets.filter(\.isOK).count)
        report(failures, of: "tickets")
    }

    /// The provider takes nothing now: the pushes wait until it does.
    func storeAway(_ pushes: [Push], asked: Interval?) async throws {
        let random = ids.fraction()
        try await work.run(trace: "", requestID: "") { work in
            let results = pushes.map { push in
                var delivery = push.delivery
                delivery.life.note(.notAccepted)
                return DeliveryResult(delivery, dueAt: work.now, isAnswered: true)
            }
            try await DeliveryRepository.store(results, from: .queued, work.sql)
            try await ProviderRepository.noteFailure(random: random, asked: asked, work.sql)
        }
    }

    /// There is no answer: the pushes may have been taken.
    func storeSilence(_ pushes: [Push]) async throws {
        let random = ids.fraction()
        try await work.run(trace: "", requestID: "") { work in
            let results = pushes.map { DeliveryResult($0.delivery, dueAt: work.now, isAnswered: false) }
            try await DeliveryRepository.store(results, from: .queued, work.sql)
            try await ProviderRepository.noteFailure(random: random, asked: nil, work.sql)
        }
    }

    /// The provider refuses these pushes for good.
    ///
    /// - Parameter endsDevice: whether their devices get no more pushes.
    func storeRefusal(_ pushes: [Push], _ reason: String, endsDevice: Bool) async throws {
        try await work.run(trace: "", requestID: "") { work in
            let refused = pushes.map { push in
                var delivery = push.delivery
                delivery.life.note(.refused)
                return delivery
            }
            let results = refused.map { DeliveryResult($0, dueAt: nil, isAnswered: true, reason: reason) }
            let stored = try await DeliveryRepository.store(results, from: .queued, work.sql)
            if endsDevice {
                let devices = pushes.map { ($0.delivery.device, work.now) }
                try await DeviceRepository.remove(unknown: Dictionary(devices, uniquingKeysWith: { first, _ in first }), work.sql)
            }
            try await work.emitSteps(of: refused, stored: stored)
            try await ProviderRepository.noteSuccess(work.sql)
        }
        report([reason: pushes.count], of: "requests")
    }

    /// What receipts say. Those that are not there yet are asked for again, until the provider deletes them.
    func store(_ receipts: [String: ExpoTicket], of deliveries: [ClaimedDelivery]) async throws {
        var failures: [String: Int] = [:]
        for receipt in receipts.values where !receipt.isOK { failures[receipt.error, default: 0] += 1 }
        let ids = ids
        let count = try await work.run(trace: "", requestID: "") { work -> Int in
            var (results, ended): ([DeliveryResult], [ClaimedDelivery]) = ([], [])
            var (unknown, slow, reached): ([DeviceID: Instant], [ClaimedDelivery], [DeviceID]) = ([:], [], [])
            for var delivery in deliveries {
                let sentAt = delivery.sentAt ?? work.now
                guard let receipt = delivery.ticket.flatMap({ receipts[$0] }) else {
                    results.append(
                        DeliveryResult(delivery, dueAt: ReceiptRule.next(sentAt: sentAt, now: work.now), isAnswered: false)
                    )
                    continue
                }
                if receipt.isOK {
                    delivery.life.note(receipt: .accepted)
                    reached.append(delivery.device)
                } else if receipt.error == "MessageRateExceeded", work.now < delivery.uselessAt {
                    delivery.life.note(receipt: .notAccepted)
                    slow.append(delivery)
                    continue
                } else {
                    delivery.life.note(receipt: .refused)
                    if receipt.error == "DeviceNotRegistered" { unknown[delivery.device] = sentAt }
                }
                let reason = receipt.isOK ? nil : receipt.error
                ended.append(delivery)
                results.append(DeliveryResult(delivery, dueAt: nil, isAnswered: false, reason: reason))
            }
            let devices = try await DeviceRepository.addresses(slow.map(\.device), work.sql)
            var paused: [DeviceID: Instant] = [:]
            for delivery in slow {
                let until =
                    paused[delivery.device] ?? work.now
                    + Self.pause(slowed: devices[delivery.device]?.slowed ?? 0, random: ids.fraction())
                paused[delivery.device] = until
                results.append(DeliveryResult(delivery, dueAt: until, isAnswered: false))
            }
            let stored = try await DeliveryRepository.store(results, from: .sent, work.sql)
            try await DeviceRepository.remove(unknown: unknown, work.sql)
            try await DeviceRepository.pause(paused, work.sql)
            try await DeviceRepository.reached(reached, work.sql)
            try await work.emitSteps(of: ended, stored: stored)
            return reached.count
        }
        core.metrics.reached("received", count: count)
        report(failures, of: "receipts")
    }

    /// Receipts that could not be asked for: again in a moment.
    func storeNoReceipts(_ deliveries: [ClaimedDelivery]) async throws {
        try await work.run(trace: "", requestID: "") { work in
            let results = deliveries.map { DeliveryResult($0, dueAt: work.now + .minutes(1), isAnswered: false) }
            try await DeliveryRepository.store(results, from: .sent, work.sql)
        }
    }

    /// How long a device gets nothing: exponential, with jitter.
    static func pause(slowed: Int, random: Double) -> Interval {
        let doublings = min(max(slowed, 0), 9)
        let ceiling = min(shortestPause.microseconds << Int64(doublings), Interval.days(1).microseconds)
        return Interval(microseconds: ceiling / 2 + Int64(Double(ceiling / 2) * random))
    }

    private func report(_ failures: [String: Int], of what: String) {
        for (reason, count) in failures {
            core.metrics.reached("failed", reason: reason, count: count)
            guard !Self.ordinary.contains(reason) else { continue }
            logger.error(
                "the push service refuses pushes",
                metadata: ["in": "\(what)", "reason": "\(reason)", "count": "\(count)"]
            )
        }
    }
}
