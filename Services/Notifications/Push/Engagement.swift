internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import Outbox

extension UnitOfWork {
    /// Emits what pushes came to, in the transaction that stores it: so each step is counted once (TS-5).
    ///
    /// - Parameters:
    ///   - deliveries: as they are now.
    ///   - stored: those whose state has changed: an answer that came late changes none.
    func emitSteps(of deliveries: [ClaimedDelivery], stored: Set<DeliveryID>) async throws {
        let steps = deliveries.filter { stored.contains($0.id) }.compactMap(DeliveryStep.init)
        let counts = try await EngagementRepository.note(steps, at: now, sql)
        guard !counts.isEmpty else { return }
        let event = NotificationDelivered(
            batchID: ids.make(),
            at: now,
            counts: counts.map { count in
                DeliveryCount(
                    kind: Kind(rawValue: count.group.kind),
                    date: count.group.date,
                    pushed: count.pushed,
                    sent: count.sent,
                    received: count.received,
                    failed: count.failed
                )
            }
        )
        try await emit(event)
    }
}
