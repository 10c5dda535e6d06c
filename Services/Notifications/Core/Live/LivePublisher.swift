internal import Bus
internal import CommonAPI
internal import Kernel
internal import Logging
private import Synchronization

/// Publishes committed events on `live.notifications.<user>`, one message for each user. Gateways with a stream of the user subscribe to it.
///
/// An event is marked when the broker has confirmed what was published, so none is lost to a replica that ends or a broker that is away. It
/// may be published twice, by two replicas for example, and out of order: gateways go by the ids.
final class LivePublisher: Sendable {
    /// Events of one statement.
    private static let batch = 2_000

    private struct State {
        var isRunning = false
        var isWanted = false
    }

    private let events: LiveEventRepository
    private let bus: BusConnection
    private let logger: Logger
    private let state = Mutex(State())

    init(events: LiveEventRepository, bus: BusConnection, logger: Logger) {
        (self.events, self.bus, self.logger) = (events, bus, logger)
    }

    /// Publishes soon, once for all calls until it begins.
    func wake() {
        let begins = state.withLock { state in
            state.isWanted = true
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { Task { await run() } }
    }

    private func run() async {
        while takesTurn() {
            do { _ = try await publish() } catch {
                // The job repeats it.
                logger.debug("live events were not published", metadata: ["error": "\(error)"])
            }
        }
    }

    private func takesTurn() -> Bool {
        state.withLock { state in
            state.isRunning = state.isWanted
            state.isWanted = false
            return state.isRunning
        }
    }

    /// Publishes what is not published.
    ///
    /// - Returns: how many events there were.
    /// - Throws: `ServiceError` when the broker does not confirm, `DatabaseError`.
    func publish() async throws -> Int {
        var count = 0
        while true {
            let batch = try await events.unpublished(limit: Self.batch)
            guard !batch.isEmpty else { return count }
            var start = 0
            while start < batch.count {
                let user = batch[start].user
                let end = batch[start...].firstIndex { $0.user != user } ?? batch.count
                let page = StreamPage(events: batch[start..<end].map(\.event), lastID: batch[end - 1].event.id)
                try bus.publish("live.notifications.\(user)", body: try page.serialized())
                start = end
            }
            try await bus.flush(within: .seconds(2))
            try await events.published(batch)
            count += batch.count
        }
    }
}
