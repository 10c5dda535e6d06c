internal import Kernel
internal import Logging
public import Wire

extension BusConnection: Caller {
    public func call<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ request: Request,
        context: CallContext
    ) async throws -> Reply {
        let body: [UInt8]
        do { body = try request.serialized() } catch { throw error.asRequestError }
        var context = context
        context.deadline = min(context.deadline, SystemClock.now() + method.timeout)
        let reply = try await callRaw(
            subject: method.subject,
            body: body,
            context: context,
            idempotent: method.isIdempotent
        )
        do {
            return try Reply(serialized: reply)
        } catch {
            logger.error("bus: a reply does not match its contract", metadata: ["method": "\(method.subject)"])
            throw ServiceError.internal
        }
    }

    /// Calls a method with bytes: context as headers, deadline, one retry, errors from error replies. For the gateway.
    ///
    /// - Parameters:
    ///   - subject: The method's subject, `rpc.auth.v1.Register`.
    ///   - body: The serialized request.
    ///   - context: Principal and deadline.
    ///   - idempotent: Whether a repeat has no further effect.
    ///   - honoursKeys: Whether the service makes a change once for each idempotency key: one that has a key may be sent again, too.
    /// - Returns: The serialized reply.
    /// - Throws: As `Caller.call`.
    public func callRaw(
        subject: String,
        body: [UInt8],
        context: CallContext,
        idempotent: Bool,
        honoursKeys: Bool = false
    ) async throws -> [UInt8] {
        let hasKey = honoursKeys && context.idempotencyKey != nil
        let repeatability: Repeatability = idempotent ? .idempotent : hasKey ? .withKey : .never
        guard let observer else { return try await insist(subject, body, context, repeatability) }
        var inner = context
        inner.trace = context.trace.child()
        let start = Tick.now()
        func end(_ code: ServiceError.Code?) {
            observer.ended(
                ObservedRPC(
                    method: subject,
                    span: inner.trace,
                    parent: context.trace,
                    requestID: context.requestID,
                    fate: .ran,
                    code: code,
                    duration: Tick.now() - start
                )
            )
        }
        observer.started(method: subject)
        do {
            let reply = try await insist(subject, body, inner, repeatability)
            end(nil)
            return reply
        } catch {
            end((error as? ServiceError)?.code ?? .cancelled)
            throw error
        }
    }

    /// Sends until there is a reply, or the policy gives up.
    private func insist(
        _ subject: String,
        _ body: [UInt8],
        _ context: CallContext,
        _ repeatability: Repeatability
    ) async throws -> [UInt8] {
        guard context.remaining > .zero else { throw ServiceError.deadlineExceeded }
        let context = configuration.sealer?.sealed(context, for: subject) ?? context
        var call = OpenCall(self, subject, body, context, repeatability)
        defer { call.end() }
        return try await call.reply()
    }
}

/// One call from its first sending to its end.
private struct OpenCall {
    private let connection: BusConnection
    private let method: CalledMethod
    private let body: [UInt8]
    private let headers: BusHeaders
    private let deadline: Tick
    private let began = Tick.now()
    private var policy: CallPolicy
    /// The request in the table; nil before it is opened.
    private var token: UInt64?
    private var isKept = false
    private var sentAt = Tick(nanoseconds: 0)
    private var last: InstanceID?
    /// Those of the service when it was last sent.
    private var losses = 0
    /// What the call fails with when nothing better comes.
    private var failure = ServiceError.deadlineExceeded
    /// What a sending was refused with: the answer when nothing can come of the others.
    private var refusal: ServiceError?

    init(
        _ connection: BusConnection,
        _ subject: String,
        _ body: [UInt8],
        _ context: CallContext,
        _ repeatability: Repeatability
    ) {
        self.connection = connection
        self.method = connection.ledger.method(subject)
        self.body = body
        self.headers = context.headers
        self.deadline = Tick(deadline: context.deadline)
        // A repeat is to have as much time as the first sending.
        let half = Interval(microseconds: context.remaining.microseconds / 2)
        self.policy = CallPolicy(repeatability, usualTime: min(method.usualTime, max(half, .milliseconds(1))))
    }

    /// Nothing more is expected.
    func end() { if let token { connection.requests.remove(token) } }

    mutating func reply() async throws -> [UInt8] {
        var step = send(to: method.service.begin(now: began))
        while true {
            let outcome: PendingRequests.Outcome
            switch step {
            case .fail: throw policy.isSettled ? refusal ?? failure : failure
            case .send(let pause) where pause > .zero:
                outcome = try await wait(pause)
                if case .silence = outcome {
                    step = send(to: method.service.destination())
                    continue
                }
            case .send:
                step = send(to: method.service.another(than: last))
                continue
            case .wait(let interval): outcome = try await wait(interval)
            }
            switch outcome {
            case .reply(let message):
                if let reply = try accept(message, &step) { return reply }
            case .silence: step = silent()
            case .noResponders(let instance): step = unanswered(instance)
            case .expired: throw failure.isInProgress ? failure : .deadlineExceeded
            case .cancelled: throw CancellationError()
            case .failed(let error): step = try unsent(error)
            }
        }
    }

    /// Sends to an instance, or to the queue group, and says how long to wait.
    private mutating func send(to destination: CalledService.Destination) -> CallPolicy.Step {
        let instance = destination.instance
        losses = destination.losses
        let subject = instance.map { InstanceSubject.endpoint(method.subject, method.service.name, $0) } ?? method.subject
        (last, sentAt) = (instance, .now())
        do {
            if let token {
                try connection.requests.keep(token, until: deadline)
                isKept = true
                connection.observer?.repeated(method: method.subject)
                let reply = connection.requests.replySubject(token, instance: instance)
                try connection.publish(subject, headers: headers, body: body, reply: reply)
            } else {
                token = try connection.send(subject, headers: headers, body: body, until: deadline, instance: instance)
            }
            return .wait(policy.sent())
        } catch {
            return (try? unsent(error)) ?? .fail
        }
    }

    /// Waits for what comes next. A request that has had an outcome, or was never opened, is opened for the wait.
    private mutating func wait(_ interval: Interval) async throws -> PendingRequests.Outcome {
        let requests = connection.requests
        if token == nil { token = try requests.open(until: deadline) }
        guard let token else { return .silence }
        return await requests.outcome(of: token, silentAt: Tick.now() + interval)
    }

    /// The reply to return; nil when it decides nothing.
    private mutating func accept(_ message: BusMessage, _ step: inout CallPolicy.Step) throws -> [UInt8]? {
        let instance = ReplySubject.instance(message.subject)
        if let instance { method.service.answered(instance) }
        guard let error = ServiceError(reply: message) else {
            // What an instance that says nothing cost before a repeat is not how long calls take, or repeats would come ever later.
            method.answered(after: Tick.now() - (instance != nil && instance == last ? sentAt : began))
            return message.body
        }
        let event: CallPolicy.Event
        if error.code == .unavailable {
            event = .refused(isLasting: error.retryAfter ?? 1 > 1)
        } else if error.isInProgress, policy.isRepeatable {
            event = .inProgress
        } else {
            event = .declined
        }
        step = policy.step(after: event, jitter: Self.jitter)
        if event != .declined {
            failure = error
        } else if step == .fail {
            throw error
        } else {
            refusal = error
        }
        try keep()
        return nil
    }

    /// After an outcome the request is open only when it was kept.
    private mutating func keep() throws(ServiceError) {
        guard let token else { return }
        isKept = true
        try connection.requests.keep(token, until: deadline)
    }

    private mutating func silent() -> CallPolicy.Step {
        let (isConnected, isLost) = connection.link.withLock { link in
            (link.handle?.isConnected ?? false, link.wasRenewed(after: sentAt))
        }
        let service = method.service
        if isConnected { service.beginRound(over: connection) }
        let event = CallPolicy.Event.silence(
            isConnected: isConnected,
            isLost: isLost,
            isInstanceLost: service.losses != losses,
            elapsed: Interval(microseconds: Int64((Tick.now() - began) / .microseconds(1)))
        )
        return policy.step(after: event, jitter: Self.jitter) { service.takeRepeat(now: .now()) }
    }

    private mutating func unanswered(_ instance: InstanceID?) -> CallPolicy.Step {
        do { try keep() } catch {
            failure = error
            return .fail
        }
        if let instance {
            method.service.gone(instance)
            return policy.step(after: .gone, jitter: Self.jitter)
        }
        failure = .unavailable()
        let event = CallPolicy.Event.noResponders(
            isHealing: connection.isHealing,
            knowsInstances: method.service.knowsInstances
        )
        return policy.step(after: event, jitter: Self.jitter)
    }

    private mutating func unsent(_ error: ServiceError) throws -> CallPolicy.Step {
        failure = error
        guard error.code == .unavailable else { throw error }
        // What could not be sent is opened again for the next sending.
        if !isKept { token = nil }
        return policy.step(after: .unsent, jitter: Self.jitter)
    }

    private static var jitter: Int64 { Int64(Entropy.below(1_000)) }
}
