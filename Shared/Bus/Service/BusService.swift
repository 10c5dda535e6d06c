public import Kernel
public import Logging
internal import Synchronization

/// A service on the bus: endpoints in a queue group that its replicas share, with discovery and statistics by the NATS services
/// protocol.
///
/// Each request runs in a task of its own on the connection's loop (`LoopExecutor`), at most `Limits.maxInFlight` at once; further ones are refused with `UNAVAILABLE`
/// immediately. A task is cancelled when the deadline of its request passes.
public final class BusService: Sendable {
    /// The limits of a service.
    public struct Limits: Sendable {
        /// Most requests that run at once, over all endpoints.
        public var maxInFlight: Int
        /// How long `drain` waits for running requests before it cancels them.
        public var drainTimeout: Interval

        /// Limits; by default 256 requests at once and 15 seconds for draining.
        public init(maxInFlight: Int = 256, drainTimeout: Interval = .seconds(15)) {
            self.maxInFlight = maxInFlight
            self.drainTimeout = drainTimeout
        }
    }

    /// The name of the service and of its queue group.
    public let name: String
    /// The name of this instance, unique on the bus: 16 lower-case hex digits.
    public var id: String { instance.text }
    private let instance: InstanceID
    private let connection: BusConnection
    private let discovery: Discovery
    private let condition: @Sendable () -> [String: String]
    private let limits: Limits
    private let logger: Logger
    private let work: ServiceWork
    private let runners: [EndpointRunner]
    private let state = Mutex(State())

    private struct State {
        var endpoints: [BusSubscription] = []
        var discovery: [BusSubscription] = []
        /// What only this instance gets. It lasts until the last request is answered: while it does, callers know that theirs may be.
        var own: [BusSubscription] = []
        var isStarted = false
        var isDraining = false
    }

    /// A service; call `start` to run it.
    ///
    /// - Parameters:
    ///   - connection: Owned by the caller: drain the service first, then close it.
    ///   - name: `auth`; letters, digits, `_` and `-`.
    ///   - version: Semantic version of the software.
    ///   - description: One sentence for people.
    ///   - metadata: Further entries of `$SRV.INFO`, such as the hash of the descriptor (D2).
    ///   - condition: Entries of the metadata that change while it runs, such as whether its database is there; asked for each reply.
    ///   - endpoints: The RPCs it answers.
    ///   - seals: Checks what requests claim (D23); nil believes every principal.
    ///   - limits: The limits.
    ///   - logger: Logs failures of handlers.
    ///   - observer: Notified of every request.
    public init(
        connection: BusConnection,
        name: String,
        version: String,
        description: String = "",
        metadata: [String: String] = [:],
        condition: @escaping @Sendable () -> [String: String] = { [:] },
        endpoints: [Endpoint],
        seals: SealCheck? = nil,
        limits: Limits = Limits(),
        logger: Logger,
        observer: (any RPCObserver)? = nil
    ) {
        self.connection = connection
        self.name = name
        let instance = InstanceID(number: Entropy.word())
        self.instance = instance
        self.limits = limits
        self.condition = condition
        self.logger = logger
        self.discovery = Discovery(
            name: name,
            id: instance.text,
            version: version,
            description: description,
            metadata: metadata,
            started: SystemClock.now()
        )
        let work = ServiceWork(mostInFlight: limits.maxInFlight)
        self.work = work
        self.runners = endpoints.map {
            EndpointRunner(
                $0,
                queue: name,
                instance: instance,
                connection: connection,
                work: work,
                seals: seals,
                observer: observer,
                logger: logger
            )
        }
    }

    /// How many requests are running.
    public var inFlight: Int { work.inFlight }

    /// Starts to answer. When it returns, the broker knows every endpoint.
    ///
    /// - Throws: `ServiceError` `VALIDATION_ERROR` for a name, version or subject that ADR-32 does not allow or that appears twice;
    ///   `UNAVAILABLE` when the broker is down. Nothing is subscribed then.
    public func start() async throws {
        try validate()
        guard
            state.withLock({ state in
                defer { state.isStarted = true }
                return !state.isStarted
            })
        else { return }
        do {
            for runner in runners {
                let subscription = try connection.subscribe(runner.endpoint.subject, queue: name, target: runner)
                state.withLock { $0.endpoints.append(subscription) }
            }
            for verb in Discovery.Verb.allCases {
                for subject in discovery.subjects(verb) {
                    let subscription = try connection.subscribe(subject) { [weak self] in self?.answer(verb, $0) }
                    state.withLock { $0.discovery.append(subscription) }
                }
            }
            try subscribeInstance()
            try await connection.flush()
        } catch {
            let ended = takeSubscriptions()
            for subscription in ended.endpoints + ended.discovery { subscription.cancel() }
            endInstance()
            state.withLock { $0.isStarted = false }
            throw error
        }
    }

    /// Drains the service: accepts no more requests, answers those that were delivered, waits for running ones, flushes the
    /// replies.
    ///
    /// After `limits.drainTimeout`, running requests are cancelled and answered with `UNAVAILABLE`. The connection stays open.
    public func drain() async {
        let end = Tick.now() + limits.drainTimeout
        state.withLock { $0.isDraining = true }
        let subscriptions = takeSubscriptions()
        // Discovery ends first, so that no client finds an instance that is stopping.
        for subscription in subscriptions.discovery { subscription.cancel() }
        await BusSubscription.drain(subscriptions.endpoints, within: limits.drainTimeout)
        if await !Waiting.until(end, { [work] in work.isIdle }) {
            logger.warning("bus: cancelled running requests", metadata: ["service": "\(name)", "count": "\(work.inFlight)"])
            work.cancelAll()
            _ = await Waiting.until(Tick.now() + .seconds(1)) { [work] in work.isIdle }
        }
        endInstance()
        do { try await connection.flush() } catch {
            logger.warning("bus: drained without a last flush", metadata: ["service": "\(name)"])
        }
        state.withLock { ($0.isStarted, $0.isDraining) = (false, false) }
    }

    /// Subscribes to what goes to this instance by name, and to the pings of callers (`InstanceTable`).
    private func subscribeInstance() throws(ServiceError) {
        let endpoints = Dictionary(uniqueKeysWithValues: runners.map { ($0.endpoint.subject, $0) })
        let prefix = InstanceSubject.prefixLength(name)
        let requests = try connection.subscribe(InstanceSubject.all(name, instance)) { [weak self] message in
            let subject = String(message.subject.utf8.dropFirst(prefix)) ?? ""
            if subject == "ping" { return self?.answerPing(message) ?? () }
            if let runner = endpoints[subject] { return self?.take(message, runner) ?? () }
            self?.connection.refused(message.subject, at: message.subject)
        }
        state.withLock { $0.own.append(requests) }
        let pings = try connection.subscribe(InstanceSubject.pingAll(name)) { [weak self] in self?.answerPing($0) }
        state.withLock { $0.own.append(pings) }
    }

    private func take(_ message: BusMessage, _ runner: EndpointRunner) {
        if state.withLock({ $0.isStarted && !$0.isDraining }) { runner.arrived(message) } else { runner.refuse(message) }
    }

    private func answerPing(_ message: BusMessage) {
        guard let inbox = message.reply else { return connection.refused(message.subject, at: message.subject) }
        // An answer that is not sent is silence, which is what the caller then sees.
        try? connection.publish(ReplySubject.from(instance, inbox), body: [])
    }

    private func endInstance() {
        let own = state.withLock { state in
            defer { state.own = [] }
            return state.own
        }
        for subscription in own { subscription.cancel() }
    }

    private func takeSubscriptions() -> (endpoints: [BusSubscription], discovery: [BusSubscription]) {
        state.withLock { state in
            defer { (state.endpoints, state.discovery) = ([], []) }
            return (state.endpoints, state.discovery)
        }
    }

    private func answer(_ verb: Discovery.Verb, _ message: BusMessage) {
        // The reply subject of a received message is always an inbox.
        guard let inbox = message.reply else { return connection.refused(message.subject, at: message.subject) }
        do {
            try connection.publish(inbox, body: try discovery.reply(verb, runners.map(\.state), condition: condition()))
        } catch {
            logger.warning("bus: a discovery reply was not sent", metadata: ["service": "\(name)", "error": "\(error)"])
        }
    }

    private func validate() throws(ServiceError) {
        guard ServiceNaming.isName(name) else { throw .validation(field: "name", "has characters ADR-32 does not allow") }
        guard ServiceNaming.isVersion(discovery.version) else { throw .validation(field: "version", "is not a semantic version") }
        var subjects: Set<String> = []
        for endpoint in runners.map(\.endpoint) {
            guard ServiceNaming.isName(endpoint.name), Subject.isPublishable(endpoint.subject),
                subjects.insert(endpoint.subject).inserted
            else { throw .validation(field: "endpoints", "\(endpoint.subject) is not a valid endpoint, or appears twice") }
        }
    }
}
