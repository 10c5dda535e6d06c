internal import CNats
internal import Kernel
internal import Logging
internal import Loop
internal import Synchronization

/// Answers the requests of one endpoint: admits, runs, replies, counts.
final class EndpointRunner: MessageTarget {
    let endpoint: Endpoint
    private let queue: String
    private let instance: InstanceID
    private let connection: BusConnection
    private let work: ServiceWork
    private let seals: SealCheck?
    private let observer: (any RPCObserver)?
    private let logger: Logger
    private let executor: LoopExecutor
    private let statistics = Mutex(EndpointStatistics())

    init(
        _ endpoint: Endpoint,
        queue: String,
        instance: InstanceID,
        connection: BusConnection,
        work: ServiceWork,
        seals: SealCheck?,
        observer: (any RPCObserver)?,
        logger: Logger
    ) {
        self.endpoint = endpoint
        self.queue = queue
        self.instance = instance
        self.connection = connection
        self.executor = LoopExecutor(connection.loop)
        self.work = work
        self.seals = seals
        self.observer = observer
        self.logger = logger
    }

    var state: Discovery.EndpointState {
        Discovery.EndpointState(endpoint: endpoint, queue: queue, statistics: statistics.withLock { $0 })
    }

    /// A request arrived at the queue group, on the loop's thread. This must be quick.
    func arrived(_ native: OpaquePointer) { arrived(BusMessage(taking: native)) }

    /// A request arrived, at the queue group or for this instance.
    func arrived(_ message: BusMessage) {
        let arrival = Tick.now()
        // A request has an inbox for its reply. A message without one is a reply of the broker or a service that was redirected
        // here on purpose.
        guard message.reply != nil else { return connection.refused(message.subject, at: endpoint.subject) }
        let fields = CallFields(message.headers)
        let parent = fields[.traceparent].flatMap { TraceContext(traceparent: $0) }
        var context = CallContext(fields, timeout: endpoint.timeout, parent: parent)
        guard context.remaining > .zero else {
            // The caller no longer waits: do not spend work on it.
            work.lateness.report(.zero - context.remaining, endpoint.subject, logger)
            return record(context, parent, .late, .deadlineExceeded, .zero)
        }
        if let problem = seals?.problem(with: &context, at: endpoint.subject) {
            work.forgeries.report(problem, context, endpoint.subject, logger)
            reply(to: message, .failure(problem.error))
            return record(context, parent, .unsealed, problem.error, .zero)
        }
        run(message, context, parent, since: arrival)
    }

    /// Runs a request that may be believed, unless as many run as may.
    private func run(_ message: BusMessage, _ context: CallContext, _ parent: TraceContext?, since arrival: Tick) {
        switch work.admit(until: Tick(deadline: context.deadline)) {
        case .overloaded:
            let refusal = ServiceError.unavailable("The service is busy.")
            reply(to: message, .failure(refusal))
            record(context, parent, .overloaded, refusal, .zero)
        case .run(let token):
            observer?.started(method: endpoint.subject)
            let task = Task(executorPreference: executor) { [self] in
                let result = await answer(message.body, context)
                // The slot is freed before the reply is sent, so that a caller that reacts to the reply finds it free.
                work.finish(token)
                await deliver(result, to: message, context)
                record(context, parent, .ran, result.failure, Tick.now() - arrival)
                work.replied()
            }
            work.attach(token, task)
        }
    }

    /// Answers that the service is stopping.
    func refuse(_ message: BusMessage) { reply(to: message, .failure(.unavailable("The service is stopping."))) }

    private func answer(_ body: [UInt8], _ context: CallContext) async -> Result<[UInt8], ServiceError> {
        if context.onlyChecks { return .failure(.validation(FieldQuestion.request(in: body).map(endpoint.problems) ?? [])) }
        do {
            return .success(try await endpoint.handle(body, context))
        } catch let error as ServiceError {
            return .failure(error)
        } catch is CancellationError {
            return .failure(context.remaining > .zero ? .unavailable("The service is stopping.") : .deadlineExceeded)
        } catch let error as any ServiceErrorConvertible where error.serviceError != nil {
            // Whatever is away says so itself, once rather than for each request.
            return .failure(error.serviceError ?? .internal)
        } catch {
            logger.error(
                "a request failed",
                metadata: ["method": "\(endpoint.subject)", "request-id": "\(context.requestID)", "error": "\(error)"]
            )
            return .failure(.internal)
        }
    }

    /// Sends the reply, and repeats that while the broker is down and the caller waits. The work is done, so no other reply would
    /// be true.
    private func deliver(_ result: Result<[UInt8], ServiceError>, to message: BusMessage, _ context: CallContext) async {
        while !reply(to: message, result) {
            guard context.remaining > .zero, (try? await Task.sleep(for: .milliseconds(20))) != nil else {
                return logger.warning("a reply was not sent", metadata: ["method": "\(endpoint.subject)"])
            }
        }
    }

    /// Sends the reply; false when the broker is down.
    @discardableResult
    private func reply(to message: BusMessage, _ result: Result<[UInt8], ServiceError>) -> Bool {
        guard let inbox = message.reply.map({ ReplySubject.from(instance, $0) }) else { return true }
        do {
            switch result {
            case .success(let body): try connection.publish(inbox, body: body)
            case .failure(let error): try send(error, to: inbox)
            }
            return true
        } catch {
            return error == .tooLarge && (try? send(.tooLarge, to: inbox)) != nil
        }
    }

    private func send(_ error: ServiceError, to inbox: String) throws(ServiceError) {
        let reply = error.reply
        try connection.publish(inbox, headers: reply.headers, body: reply.body)
    }

    private func record(
        _ context: CallContext,
        _ parent: TraceContext?,
        _ fate: ObservedRPC.Fate,
        _ error: ServiceError?,
        _ duration: Duration
    ) {
        statistics.withLock { $0.record(error, duration) }
        observer?.ended(
            ObservedRPC(
                method: endpoint.subject,
                span: context.trace,
                parent: parent,
                requestID: context.requestID,
                fate: fate,
                code: error?.code,
                duration: duration
            )
        )
    }
}

extension Result where Failure == ServiceError {
    fileprivate var failure: ServiceError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// The `WorkTable` of a service with its timer.
final class ServiceWork: Sendable {
    private let table: TimedMutex<WorkTable<Task<Void, Never>>>
    private let replying = Atomic(0)
    let lateness = Lateness()
    let forgeries = Forgeries()

    init(mostInFlight: Int) {
        table = TimedMutex(WorkTable(mostInFlight: mostInFlight), label: "bus.work")
        table.onWake { [weak self] in self?.expire() }
    }

    /// How many requests are running.
    var inFlight: Int { table.withLock { $0.count } }

    /// Whether every admitted request has been answered.
    var isIdle: Bool { replying.load(ordering: .acquiring) == 0 }

    func admit(until deadline: Tick) -> WorkTable<Task<Void, Never>>.Admission {
        let admission = table.withLock { $0.admit(deadline: deadline) }
        if case .run = admission { replying.add(1, ordering: .acquiringAndReleasing) }
        return admission
    }

    func attach(_ token: UInt64, _ task: Task<Void, Never>) {
        if table.withLock({ $0.attach(token, task) }) { task.cancel() }
    }

    func finish(_ token: UInt64) { table.withLock { $0.finish(token) } }

    func replied() { replying.subtract(1, ordering: .acquiringAndReleasing) }

    func cancelAll() {
        for task in table.withLock({ $0.cancelAll() }) { task.cancel() }
    }

    private func expire() {
        for task in table.withLock({ $0.expire(now: .now()) }) { task.cancel() }
    }
}

/// Says that requests come long after their deadlines, once a minute. They are dropped without a reply, so it would show nowhere else why.
final class Lateness: Sendable {
    /// Less is a busy machine.
    private static let notable = Interval.seconds(1)
    private let pace = ReportPace()

    func report(_ late: Interval, _ method: String, _ logger: Logger) {
        guard late >= Self.notable, pace.isDue() else { return }
        logger.warning(
            "requests come after their deadlines: this process was stopped, or its clock is ahead of the callers'",
            metadata: ["method": "\(method)", "secondsLate": "\(late.seconds)"]
        )
    }
}

/// Says that requests are refused for what they claim, once a minute: an attacker must not fill the log.
final class Forgeries: Sendable {
    private let pace = ReportPace()

    func report(_ problem: SealCheck.Problem, _ context: CallContext, _ method: String, _ logger: Logger) {
        guard pace.isDue() else { return }
        logger.warning(
            "a request was refused: no gateway has sealed what it claims",
            metadata: [
                "method": "\(method)", "problem": "\(problem)", "role": "\(context.principal?.role.rawValue ?? "none")",
                "request-id": "\(context.requestID)",
            ]
        )
    }
}

/// Once a minute.
private final class ReportPace: Sendable {
    private static let pause = Duration.seconds(60)
    private let reported = Mutex<ContinuousClock.Instant?>(nil)

    /// Whether nothing was reported for a minute; then this counts as a report.
    func isDue() -> Bool {
        let now = ContinuousClock.now
        return reported.withLock { reported in
            if let last = reported, last.duration(to: now) < Self.pause { return false }
            reported = now
            return true
        }
    }
}
