internal import Kernel
internal import Logging
internal import Synchronization

/// The receiving end of a durable consumer, until it is stopped. Survives the broker's absence.
public final class Consumption: Sendable {
    private let connection: BusConnection
    private let stream: String
    private let durable: String
    private let batch: Int
    private let endsWithConnection: Bool
    private let inbox: String
    private let state: Mutex<State>
    private let arrivals: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private let alarm = Mutex<Alarm?>(nil)
    private static let expiry = Interval.seconds(10)

    private struct State: Sendable {
        var loop: PullLoop
        var buffer: [JetStreamMessage] = []
        var subscription: BusSubscription?
        var watcher: UInt64?
        var task: Task<Void, Never>?
        var hasEnded = false
    }

    init(
        connection: BusConnection,
        stream: String,
        durable: String,
        batch: Int,
        endsWithConnection: Bool,
        handler: @escaping @Sendable ([JetStreamMessage]) async -> Void
    ) {
        self.connection = connection
        self.stream = stream
        self.durable = durable
        self.batch = batch
        self.endsWithConnection = endsWithConnection
        self.inbox = connection.makeInbox()
        self.state = Mutex(State(loop: PullLoop(batch: batch, expiry: Self.expiry)))
        (arrivals, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let alarm = Alarm(label: "bus.pull") { [weak self] in self?.pull() }
        self.alarm.withLock { $0 = alarm }
        begin(handler)
    }

    /// Ends it in order: asks for nothing more, lets the handler finish everything that has arrived, then returns.
    public func stop() async {
        let (subscription, watcher, task) = state.withLock { state in
            state.loop.stop()
            return (state.subscription, state.watcher, state.task)
        }
        if let watcher { connection.removeWatcher(watcher) }
        // What the broker has sent already still arrives here; were it thrown away, it would come again only after the ack wait.
        await subscription?.drain()
        bell.finish()
        await task?.value
    }

    /// Whether nothing more is asked for: the connection it began with is gone, and it was to end with that, or the bus was closed.
    public var hasEnded: Bool { state.withLock { $0.hasEnded } }

    private func begin(_ handler: @escaping @Sendable ([JetStreamMessage]) async -> Void) {
        do {
            let subscription = try connection.subscribe("\(inbox).*") { [weak self] in self?.arrived($0) }
            let watcher = connection.addWatcher { [weak self] in self?.heard($0) }
            let task = Task { await self.run(handler) }
            state.withLock { state in
                (state.subscription, state.watcher, state.task) = (subscription, watcher, task)
            }
            pull()
        } catch {
            // Only a closed connection refuses a subscription: there is nothing to receive any more.
            connection.logger.error("bus: a consumer cannot start", metadata: ["stream": "\(stream)", "durable": "\(durable)"])
            bell.finish()
        }
    }

    private func heard(_ event: ConnectionEvent) {
        switch event {
        case .reconnected:
            state.withLock { state in
                state.loop.reconnected()
                if endsWithConnection {
                    state.loop.stop()
                    state.hasEnded = true
                }
            }
            pull()
        case .closed:
            state.withLock { state in
                state.loop.stop()
                state.hasEnded = true
            }
            bell.finish()
        }
    }

    private func run(_ handler: @Sendable ([JetStreamMessage]) async -> Void) async {
        for await _ in arrivals {
            while let batch = take() {
                await handler(batch)
                state.withLock { $0.loop.handled(batch.count) }
                pull()
            }
        }
        // Stopped: the stream has ended, and perhaps a last bell with it.
        while let batch = take() { await handler(batch) }
    }

    private func take() -> [JetStreamMessage]? {
        state.withLock { state in
            guard !state.buffer.isEmpty else { return nil }
            let taken = Array(state.buffer.prefix(batch))
            state.buffer.removeFirst(taken.count)
            return taken
        }
    }

    private func arrived(_ message: BusMessage) {
        if let delivery = JetStreamMessage(message, connection: connection) {
            state.withLock { state in
                state.loop.received(now: .now())
                state.buffer.append(delivery)
            }
            bell.yield()
        } else if message.brokerStatus == 100 {
            state.withLock { $0.loop.heard(now: .now()) }
        } else if let status = message.brokerStatus,
            let id = message.subject.split(separator: ".").last.flatMap({ UInt64($0) })
        {
            if status != 404, status != 408 {
                connection.logger.debug(
                    "bus: a pull was refused",
                    metadata: ["stream": "\(stream)", "status": "\(status)", "text": "\(message.headers["Description"] ?? "")"]
                )
            }
            state.withLock { $0.loop.ended(id, status: status, now: .now()) }
        }
        pull()
    }

    /// Asks for more when it is time to.
    private func pull() {
        let (next, wakeAt) = state.withLock { state in (state.loop.next(now: .now()), state.loop.wakeAt) }
        if let wakeAt { alarm.withLock { $0?.set(wakeAt) } }
        guard let next else { return }
        do {
            let request = JetStreamCodec.Pull(
                batch: next.batch,
                expires: Self.expiry.nanoseconds,
                heartbeat: PullLoop.heartbeat.nanoseconds
            )
            try connection.publish(
                "$JS.API.CONSUMER.MSG.NEXT.\(stream).\(durable)",
                body: try JetStreamCodec.encode(request),
                reply: "\(inbox).\(next.id)"
            )
        } catch {
            let wakeAt = state.withLock { state in
                state.loop.failed(next.id, now: .now())
                return state.loop.wakeAt
            }
            if let wakeAt { alarm.withLock { $0?.set(wakeAt) } }
        }
    }
}
