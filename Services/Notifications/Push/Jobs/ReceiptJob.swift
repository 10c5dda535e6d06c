internal import Kernel
internal import NotificationsCore
internal import Outbox
internal import ServiceRuntime

/// Asks what has become of pushes, 15 minutes after they were handed over (NO-3). Asking changes nothing at the provider: a process that dies
/// meanwhile leaves it to the next.
struct ReceiptJob: Sendable {
    let core: NotificationsCore
    let client: ExpoClient
    let outcomes: PushOutcomes
    let work: UnitOfWorkFactory
    let ids: any IDSource

    var job: Job {
        Job("push_receipts", every: .seconds(5)) { [self] _ in try await ask() }
    }

    /// What is asked for, over which connection.
    private struct Turn: Sendable {
        let slot: Int32
        let deliveries: [ClaimedDelivery]
    }

    /// - Returns: how many receipts were asked for.
    private func ask() async throws -> Int {
        let holder: OperationID = ids.make()
        let turn = try await work.run(trace: "", requestID: "") { work -> Turn? in
            // A provider that is away is left to the job of the pushes.
            guard case .open = try await ProviderRepository.gate(work.sql, mayProbe: false) else { return nil }
            let deliveries = try await DeliveryRepository.claimReceipts(at: work.now, limit: ExpoClient.mostReceipts, work.sql)
            guard !deliveries.isEmpty, let slot = try await ProviderRepository.takeSlot(holder, isForPushes: false, work.sql)
            else {
                try await DeliveryRepository.release(deliveries.map(\.id), work.sql)
                return nil
            }
            return Turn(slot: slot, deliveries: deliveries)
        }
        guard let turn else { return 0 }
        let answer = await client.receipts(turn.deliveries.compactMap(\.ticket))
        try await work.run(trace: "", requestID: "") { work in
            try await ProviderRepository.freeSlot(turn.slot, holder, work.sql)
        }
        switch answer {
        case .answered(let receipts):
            try await outcomes.store(receipts, of: turn.deliveries)
            return turn.deliveries.count
        case .refused, .away, .silent:
            try await outcomes.storeNoReceipts(turn.deliveries)
            return 0
        }
    }
}
