internal import CNats
public import Kernel
internal import Logging

/// Receives the messages of a durable consumer, until it is stopped. It survives an outage of the broker.
public final class Consumption: Sendable {
    private let connection: BusConnection
    private let stream: String
    private let durable: String
    private let batch: Int
    private let subjects: Set<String>?
    private let executor: any TaskExecutor
    private let epoch: ConnectionEpoch?
    /// The prefix of reply subjects of pull requests; the number of the request follows.
    let inbox: String
    private let inboxStart: String
    private let state: TimedMutex<State>
    private let arrivals: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private static let expiry = Interval.seconds(30)

    private struct State: TimedValue {
        var loop: PullLoop
        var buffer: [JetStreamMessage] = []
        var subscription: BusSubscription?
        var watcher: UInt64?
        var task: Task<Void, Never>?
        var hasEnded = false
        /// Whether the handler has been called for the last time.
        var isQuiet = false

        var wakeAt: Tick? { loop.wakeAt }
    }

    init(
        connection: BusConnection,
        stream: String,
        durable: String,
        batch: Int,
        subjects: Set<String>?,
        executor: any TaskExecutor,
        epoch: ConnectionEpoch?,
        handler: @escaping @Sendable ([JetStreamMessage]) async -> Void
    ) {
        self.connection = connection
        self.stream = stream
        self.durable = durable
        self.batch = batch
        self.subjects = subjects
        self.executor = executor
        self.epoch = epoch
        self.inbox = connection.makeInbox()
        self.inboxStart = inbox + "."
        self.state = TimedMutex(State(loop: PullLoop(batch: batch, expiry: Self.expiry)), label: "bus.pull")
        (arrivals, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.onWake { [weak self] in self?.pull() }
        begin(handler)
    }

    /// Shuts it down: requests nothing more, lets the handler finish all received messages, then returns.
    ///
    /// - Parameter limit: How long the handler may take. Then its task is cancelled and awaited for 5 more seconds; the remaining
    ///   messages are lost here, and read by their places.
    public func stop(within limit: Interval = .seconds(15)) async {
        let end = Tick.now() + limit
        let (subscription, watcher, task) = state.withLock { state in
            state.loop.stop()
            return (state.subscription, state.watcher, state.task)
        }
        if let watcher { connection.removeWatcher(watcher) }
        // Messages that the broker has already sent still arrive here. It does not send them again.
        await subscription?.drain(within: min(limit, .seconds(10)))
        bell.finish()
        guard let task else { return }
        let isQuiet: @Sendable () -> Bool = { [state] in state.withLock { $0.isQuiet } }
        if await Waiting.until(end, isQuiet) { return }
        task.cancel()
        if await Waiting.until(Tick.now() + .seconds(5), isQuiet) { return }
        connection.logger.error(
            "bus: a consumer's handler does not return",
            metadata: ["stream": "\(stream)", "durable": "\(durable)"]
        )
    }

    /// Whether it requests nothing more: the connection it should end with has ended, or the bus was closed.
    public var hasEnded: Bool { state.withLock { $0.hasEnded } }

    private func begin(_ handler: @escaping @Sendable ([JetStreamMessage]) async -> Void) {
        do {
            let subscription = try connection.subscribe("\(inbox).*", queue: nil, target: DeliveryTarget(self))
            let watcher = connection.addWatcher { [weak self] in self?.connectionChanged($0) }
            let task = Task(executorPreference: executor) { await self.run(handler) }
            state.withLock { state in
                (state.subscription, state.watcher, state.task) = (subscription, watcher, task)
            }
            pull()
        } catch {
            // Only a closed connection refuses a subscription.
            connection.logger.error("bus: a consumer cannot start", metadata: ["stream": "\(stream)", "durable": "\(durable)"])
            state.withLock { $0.hasEnded = true }
            bell.finish()
        }
    }

    private func connectionChanged(_ event: ConnectionEvent) {
        switch event {
        case .reconnected:
            state.withLock { state in
                state.loop.reconnected()
                if epoch != nil {
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
            while !Task.isCancelled, let batch = take() {
                await handler(batch)
                state.withLock { $0.loop.handled(batch.count) }
                pull()
            }
        }
        // Stopped: the stream of bells has ended.
        while !Task.isCancelled, let batch = take() { await handler(batch) }
        state.withLock { $0.isQuiet = true }
    }

    private func take() -> [JetStreamMessage]? {
        let taken = state.withLock { state -> [JetStreamMessage]? in
            guard !state.buffer.isEmpty else { return nil }
            let taken = Array(state.buffer.prefix(batch))
            state.buffer.removeFirst(taken.count)
            return taken
        }
        guard taken != nil, let epoch, connection.epoch != epoch else { return taken }
        // Some of them may have come over a later connection: the library sends buffered pull requests, and receives their
        // messages, before it reports the reconnect.
        state.withLock { state in
            state.loop.stop()
            state.buffer = []
            state.hasEnded = true
        }
        return nil
    }

    /// Accepts only what the broker sends in answer to our pull requests. Otherwise any client that may publish to inboxes, or read
    /// another stream, could forge events.
    ///
    /// A delivery has the subject of its message in the stream, and a reply subject (meant for acknowledgements) that names stream and
    /// consumer. The broker's status of a request comes to the request's inbox, without a reply subject.
    ///
    /// - Parameter message: is taken.
    func arrived(_ message: OpaquePointer) {
        arrived(
            BusMessage(taking: message, anyReply: true) { [subjects, inboxStart] subject in
                subjects?.contains(subject) != false || subject.hasPrefix(inboxStart)
            }
        )
    }

    func arrived(_ message: BusMessage) {
        if message.subject.hasPrefix(inboxStart) {
            guard message.reply == nil, let status = message.brokerStatus,
                let id = UInt64(message.subject.dropFirst(inboxStart.count))
            else { return connection.refused(message.subject, at: "\(inbox).*") }
            received(status, of: id, message)
        } else {
            guard let reply = message.reply, let delivery = Delivery(reply), delivery.stream == stream,
                delivery.consumer == durable
            else { return connection.refused(message.subject, at: "\(inbox).*") }
            let event = JetStreamMessage(message, delivery)
            state.withLock { state in
                state.loop.received(now: .now())
                state.buffer.append(event)
            }
            bell.yield()
        }
        pull()
    }

    /// The broker has no JetStream at this moment. Requests to a consumer that it does not have get no answer.
    func hadNoResponder() { state.withLock { $0.loop.refused(now: .now()) } }

    /// The broker has sent the status of a pull request.
    private func received(_ status: Int, of id: UInt64, _ message: BusMessage) {
        if status == 100 { return state.withLock { $0.loop.brokerSent(now: .now()) } }
        if status != 404, status != 408 {
            connection.logger.debug(
                "bus: a pull was refused",
                metadata: ["stream": "\(stream)", "status": "\(status)", "text": "\(message.headers["Description"] ?? "")"]
            )
        }
        state.withLock { $0.loop.ended(id, status: status, now: .now()) }
    }

    /// Requests more messages when it is time.
    private func pull() {
        guard let next = state.withLock({ $0.loop.next(now: .now()) }) else { return }
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
            state.withLock { $0.loop.failed(next.id, now: .now()) }
        }
    }
}

/// Passes deliveries to a consumption without keeping it alive.
private final class DeliveryTarget: MessageTarget {
    private let consumption: WeakConsumption

    init(_ consumption: Consumption) { self.consumption = WeakConsumption(consumption) }

    var judgesSubjects: Bool { true }
    var isInformedOf503: Bool { true }

    func hadNoResponder() { consumption.value?.hadNoResponder() }

    func arrived(_ message: OpaquePointer) {
        guard let consumption = consumption.value else { return natsMsg_DestroyHere(message) }
        consumption.arrived(message)
    }
}

private final class WeakConsumption: @unchecked Sendable {
    // Written once, before it is shared.
    private(set) weak var value: Consumption?

    init(_ value: Consumption) { self.value = value }
}
