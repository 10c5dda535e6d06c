internal import Bus
internal import Kernel
internal import Logging
internal import NIOCore
internal import Runtime
private import Synchronization
internal import Tokens
internal import Transcoding

/// All open streams of this gateway (deploy/docs/bus.md): one subscription a user, one clock and one renewal of leases for all of them.
final class StreamHub: Sendable {
    /// Why a stream ended, for the metric.
    enum End: String, CaseIterable {
        case client, expired, revoked, slow, refused, drain
    }

    /// Leases that one call renews.
    private static let batch = 2_000
    /// How often leases are renewed; services keep them for at least twice as long.
    private static let renewal = Duration.seconds(20)
    private static let callLimit = Interval.seconds(5)
    /// TCP_USER_TIMEOUT of tcp(7), in milliseconds: a client that has vanished is noticed by the second comment it does not acknowledge.
    private static let userTimeout = (name: NIOBSDSocket.Option(rawValue: 18), milliseconds: 30_000)
    /// What the kernel keeps for a client that does not read.
    private static let sendBuffer = 64 << 10

    private struct Topic {
        let subscription: BusSubscription
        var leases: Set<LeaseID>
    }

    private struct State {
        var streams: [LeaseID: EventStream] = [:]
        /// By subject.
        var topics: [String: Topic] = [:]
        /// Leases of streams that have ended, by the subject of what renews them.
        var ended: [String: [LeaseID]] = [:]
        var isEndingLeases = false
        var isDraining = false
        var questions = StreamQuestions()
    }

    private let bus: BusConnection
    private let revocations: Revocations
    private let clock: any Clock
    private let ids: any IDSource
    private let most: Int
    private let logger: Logger
    private let metrics: StreamMetrics
    private let state = Mutex(State())

    /// - Parameter most: streams at once.
    init(
        bus: BusConnection,
        revocations: Revocations,
        clock: any Clock,
        ids: any IDSource,
        most: Int,
        metrics: StreamMetrics,
        logger: Logger
    ) {
        (self.bus, self.revocations, self.clock, self.ids) = (bus, revocations, clock, ids)
        (self.most, self.metrics, self.logger) = (most, metrics, logger)
    }

    /// Streams that are open.
    var count: Int { state.withLock { $0.streams.count } }

    // MARK: Opening and ending

    /// Opens a stream: subscribes, then asks the service for what the client has missed, so that nothing falls between the two.
    ///
    /// - Parameters:
    ///   - lastEventID: the header; nil without one.
    ///   - context: of the request, for the service.
    /// - Throws: `UNAVAILABLE` when the gateway stops or has as many as it may, and what the service refuses.
    func open(
        _ route: Route,
        _ token: AccessToken,
        lastEventID: String?,
        _ context: CallContext,
        _ channel: any Channel
    ) async throws -> EventStream {
        let stream = EventStream(
            lease: ids.make(),
            token: token,
            route: route,
            lastEventID: lastEventID ?? "",
            channel: channel
        )
        // Not on the connection's event loop: it writes to the broker's connection.
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try add(stream) }
        do {
            let page = try await ask(stream, context)
            act(stream.answered(page), stream)
        } catch {
            end(stream, .refused)
            throw error
        }
        watch(stream)
        return stream
    }

    /// Subscribes for the first stream of a user, and adds the stream. Subscribing writes to the broker's connection: not under the lock.
    private func add(_ stream: EventStream) throws {
        let subject = stream.subject
        var made: BusSubscription?
        // Another stream of the user was faster.
        defer { made?.cancel() }
        var isAdded = false
        while !isAdded {
            if made == nil, state.withLock({ $0.topics[subject] == nil }) {
                made = try bus.subscribe(subject) { [weak self] message in self?.received(message, on: subject) }
            }
            isAdded = try state.withLock { state in
                guard !state.isDraining else { throw ServiceError.unavailable("The server stops; connect again.") }
                guard state.streams.count < most else {
                    throw ServiceError(.unavailable, "UNAVAILABLE", "The server has too many open streams.", retryAfter: 5)
                }
                if state.topics[subject] == nil {
                    guard let subscription = made else { return false }
                    state.topics[subject] = Topic(subscription: subscription, leases: [])
                    made = nil
                }
                state.topics[subject]?.leases.insert(stream.lease)
                state.streams[stream.lease] = stream
                return true
            }
        }
        metrics.open.add(1)
    }

    /// Ends the stream with its connection, whichever end closes that, and whether or not its reply was ever written.
    private func watch(_ stream: EventStream) {
        let channel = stream.channel
        channel.closeFuture.whenComplete { [weak self] _ in self?.end(stream, .client) }
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: Self.userTimeout.name)
        channel.setOption(option, value: Self.userTimeout.milliseconds).whenFailure { _ in }
        channel.setOption(.socketOption(.so_sndbuf), value: Self.sendBuffer).whenFailure { _ in }
        channel.eventLoop.execute { [weak self] in
            let handler = ClientEnd { self?.end(stream, .client) }
            try? channel.pipeline.syncOperations.addHandler(handler, position: .first)
        }
    }

    /// Ends a stream and its lease; what waits for its client is still sent, unless it reads too slowly.
    private func end(_ stream: EventStream, _ reason: End) {
        guard stream.end() else { return }
        if reason == .slow { stream.cut() }
        let subject = stream.subject
        let subscription = state.withLock { state -> BusSubscription? in
            state.streams[stream.lease] = nil
            state.ended[stream.renewal, default: []].append(stream.lease)
            state.topics[subject]?.leases.remove(stream.lease)
            guard let topic = state.topics[subject], topic.leases.isEmpty else { return nil }
            state.topics[subject] = nil
            return topic.subscription
        }
        // Not here, which may be the connection's event loop: it writes to the broker's connection.
        if let subscription { Task { subscription.cancel() } }
        metrics.open.add(-1)
        metrics.ended(reason)
        scheduleLeaseEnds()
    }

    /// Opens no more, and ends all. Their clients connect to another gateway.
    func drain() async {
        let streams = state.withLock { state in
            state.isDraining = true
            return Array(state.streams.values)
        }
        for stream in streams { end(stream, .drain) }
        await endLeases()
    }

    // MARK: Events

    private func received(_ message: BusMessage, on subject: String) {
        guard let page = StreamContract.page(message.body) else {
            return logger.error("a live message was not understood", metadata: ["subject": "\(subject)"])
        }
        let streams = state.withLock { state in state.topics[subject]?.leases.compactMap { state.streams[$0] } ?? [] }
        for stream in streams where isAllowed(stream) { act(stream.received(page.events), stream) }
    }

    private func act(_ change: (outcome: EventStream.Outcome, count: Int), _ stream: EventStream) {
        metrics.events.increment(by: change.count)
        act(change.outcome, stream)
    }

    private func act(_ outcome: EventStream.Outcome, _ stream: EventStream) {
        switch outcome {
        case .nothing: break
        case .ask:
            state.withLock { $0.questions.append(stream.lease) }
            askNext()
        case .tooSlow: end(stream, .slow)
        }
    }

    /// Whether its token still stands; ends it otherwise.
    private func isAllowed(_ stream: EventStream) -> Bool {
        if revocations.contains(stream.token) {
            end(stream, .revoked)
            return false
        }
        if stream.token.expiresAt <= clock.now() {
            end(stream, .expired)
            return false
        }
        return true
    }

    // MARK: What is missing

    /// Asks for as many streams as may be asked for at once.
    private func askNext() {
        while true {
            let stream = state.withLock { state in
                let streams = state.streams
                return state.questions.next { streams[$0] != nil }.flatMap { streams[$0] }
            }
            guard let stream else { return }
            Task { [self] in
                let isAnswered = await askAgain(stream)
                state.withLock { $0.questions.ended(again: isAnswered ? nil : stream.lease) }
                askNext()
            }
        }
    }

    /// - Returns: whether there is an answer; without one it is asked for a moment later.
    private func askAgain(_ stream: EventStream) async -> Bool {
        metrics.questions.increment()
        let caller = Authenticator.Caller(token: stream.token)
        do {
            let page = try await ask(stream, .expiring(in: Self.callLimit, principal: caller.principal))
            act(stream.answered(page), stream)
        } catch let error as ServiceError where [.resourceExhausted, .permissionDenied, .unauthenticated].contains(error.code) {
            end(stream, .refused)
        } catch {
            return false
        }
        return true
    }

    private func ask(_ stream: EventStream, _ context: CallContext) async throws -> StreamPage {
        let body = StreamContract.request(lastEventID: stream.position, lease: stream.lease.description)
        let reply: [UInt8]
        do { reply = try await bus.callRaw(subject: stream.method, body: body, context: context, idempotent: true) } catch {
            throw (error as? ServiceError)?.asSeenByClients(stream.method, logger) ?? error
        }
        guard let page = StreamContract.page(reply) else { throw ServiceError.internal }
        return page
    }

    // MARK: Time

    /// Looks after the streams until cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.tick() }
            tasks.addTask { await self.renew() }
        }
    }

    /// Every second: comments for quiet streams, the end of those whose token has ended or whose client does not read.
    private func tick() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            let streams = state.withLock { state in
                state.questions.repeatFailed()
                return Array(state.streams.values)
            }
            let now = ContinuousClock.now
            for stream in streams where isAllowed(stream) { act(stream.tick(now), stream) }
            askNext()
            scheduleLeaseEnds()
        }
    }

    /// Renews all leases every 20 s, and as soon as the bus is connected again: then the replies say which streams have missed something.
    private func renew() async {
        var (epoch, due) = (bus.epoch, ContinuousClock.now + Self.renewal)
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            let present = bus.epoch
            guard present != epoch || ContinuousClock.now >= due else { continue }
            let isDone = await renewAll()
            if isDone { epoch = present }
            due = .now + (isDone ? Self.renewal : .seconds(2))
        }
    }

    /// - Returns: whether every service has answered.
    private func renewAll() async -> Bool {
        let streams = state.withLock { state in Array(state.streams.values) }
        var isDone = true
        for (subject, streams) in Dictionary(grouping: streams, by: \.renewal) {
            for start in stride(from: 0, to: streams.count, by: Self.batch) {
                let part = streams[start..<min(start + Self.batch, streams.count)]
                let body = StreamContract.renewal(of: part.map(\.lease.description), ending: [])
                guard let states = await call(subject, body).flatMap({ StreamContract.states($0) }) else {
                    isDone = false
                    continue
                }
                for stream in part { act(stream.reported(states[stream.lease.description]), stream) }
            }
        }
        return isDone
    }

    /// A moment later, for all that end about now.
    private func scheduleLeaseEnds() {
        let isFirst = state.withLock { state in
            guard !state.ended.isEmpty, !state.isEndingLeases else { return false }
            state.isEndingLeases = true
            return true
        }
        guard isFirst else { return }
        Task { [self] in
            try? await Task.sleep(for: .milliseconds(50))
            await endLeases()
            state.withLock { $0.isEndingLeases = false }
        }
    }

    private func endLeases() async {
        let ended = state.withLock { state in
            defer { state.ended = [:] }
            return state.ended
        }
        for (subject, leases) in ended {
            for start in stride(from: 0, to: leases.count, by: Self.batch) {
                let part = leases[start..<min(start + Self.batch, leases.count)]
                if await call(subject, StreamContract.renewal(of: [], ending: part.map(\.description))) != nil { continue }
                // The service is away; it ends them itself should this go on.
                state.withLock { $0.ended[subject, default: []] += part }
            }
        }
    }

    private func call(_ subject: String, _ body: [UInt8]) async -> [UInt8]? {
        try? await bus.callRaw(subject: subject, body: body, context: .expiring(in: Self.callLimit), idempotent: true)
    }
}
