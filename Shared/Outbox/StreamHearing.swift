internal import Bus
internal import Database
internal import Kernel
internal import Logging
private import Synchronization

/// One replica's turn at hearing one stream.
final class StreamHearing: Sendable {
    /// How long the broker waits for an acknowledgement; prolonged while a handler runs.
    static let ackWait = Interval.seconds(6)
    private static let patience = Duration.seconds(8)

    let lease: HearingLease
    private let state: Mutex<State>

    private struct State {
        var trustedUntil: ContinuousClock.Instant
        var isEnding = false
        var order: DeliveryOrder<JetStreamMessage>
    }

    init(lease: HearingLease, unacknowledged: Int, heldSince: ContinuousClock.Instant) {
        self.lease = lease
        self.state = Mutex(
            State(
                trustedUntil: heldSince.advanced(by: HearingLease.trust),
                order: DeliveryOrder(unacknowledged: unacknowledged, patience: Self.patience, now: .now)
            )
        )
    }

    /// Whether events may still be handled.
    var isHeld: Bool { state.withLock { $0.trustedUntil > .now } }

    /// Whether an event that fails for the moment may be waited with.
    var mayWait: Bool { state.withLock { !$0.isEnding && $0.trustedUntil > .now } }

    func prolong(since start: ContinuousClock.Instant) {
        state.withLock { $0.trustedUntil = start.advanced(by: HearingLease.trust) }
    }

    func lose() { state.withLock { $0.trustedUntil = .now } }

    func end() { state.withLock { $0.isEnding = true } }

    func inOrder(_ batch: [JetStreamMessage]) -> [JetStreamMessage] { state.withLock { $0.order.take(batch, now: .now) } }
}

extension EventConsumer {
    /// Hears one stream whenever it is this replica's turn, until the task is cancelled.
    func hear(stream: String) async {
        let lease = HearingLease(stream: stream, holder: replica, database: database)
        var failures = 0
        while !Task.isCancelled {
            do {
                let start = ContinuousClock.now
                if try await lease.hold() { try await takeTurn(lease, since: start) }
                failures = 0
            } catch {
                failures += 1
                if failures % 50 == 10 {
                    logger.warning("waiting for an event stream", metadata: ["stream": "\(stream)", "error": "\(error)"])
                }
            }
            try? await Task.sleep(for: .milliseconds(200))
        }
        // The task is cancelled by now, and what is cancelled sends no statement.
        await Task { await lease.giveUp() }.value
    }

    /// Returns when the lease is lost or the task cancelled, and everything that has arrived is dealt with.
    private func takeTurn(_ lease: HearingLease, since start: ContinuousClock.Instant) async throws {
        try await prepare(lease.stream)
        let unacknowledged = try await jetStream.consumerInfo(stream: lease.stream, durable: service).ackPending
        let hearing = StreamHearing(lease: lease, unacknowledged: unacknowledged, heldSince: start)
        let consumption = jetStream.consume(stream: lease.stream, durable: service, batch: 100) { [self] batch in
            await hear(hearing.inOrder(batch), hearing)
        }
        var rounds = 0
        while !Task.isCancelled, hearing.isHeld {
            try? await Task.sleep(for: .milliseconds(1_000))
            if Task.isCancelled { break }
            await prolong(lease, hearing)
            rounds += 1
            // A broker may come back without its disk.
            if rounds % 15 == 0 { try? await prepare(lease.stream) }
        }
        hearing.end()
        // The rest of what has arrived is handled under the lease, so it is held until then.
        let keeper = Task { [self] in
            while !Task.isCancelled {
                await prolong(lease, hearing)
                try? await Task.sleep(for: .milliseconds(1_000))
            }
        }
        await consumption.stop()
        keeper.cancel()
        await keeper.value
    }

    private func prepare(_ stream: String) async throws {
        try await jetStream.ensureConsumer(stream: stream, durable: service, ackWait: StreamHearing.ackWait, maxAckPending: 1_000)
    }

    private func prolong(_ lease: HearingLease, _ hearing: StreamHearing) async {
        guard hearing.isHeld else { return }
        let start = ContinuousClock.now
        // While the database is away the lease cannot be taken by anybody else either, but may be later: trust runs out.
        guard let isOurs = try? await lease.hold() else { return }
        if isOurs { hearing.prolong(since: start) } else { hearing.lose() }
    }
}
