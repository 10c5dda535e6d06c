internal import Kernel
internal import Logging
public import Wire

/// Whether and how a call is retried. Pure; one for each call.
///
/// An idempotent method is sent again, once: when an instance refused it (overloaded, stopping), when the connection broke, or when
/// half of the time has passed without a reply (the instance may have died). The first reply to either sending counts. Without
/// responders a call fails at once, except while the broker is down and shortly after, when responders are still reconnecting. No
/// instance got the request then, so any method may be sent again. At other times an idempotent call is sent once more after about
/// 20 ms, because a stopping broker disconnects its clients one after the other.
struct CallPolicy {
    /// The failure of one sending.
    enum Setback: Equatable {
        /// An instance answered `UNAVAILABLE`.
        case refused
        /// The connection broke while the request was sent.
        case unsent
        /// No reply within the timeout.
        case silence
        /// There is no responder.
        case noResponders(isHealing: Bool)
    }

    let isIdempotent: Bool
    private var hasRetried = false

    init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

    private var mayRetry: Bool { isIdempotent && !hasRetried }

    /// Until when to wait for a reply to the next sending.
    func timeout(now: Instant, deadline: Instant) -> Instant {
        mayRetry ? now + Interval(microseconds: (deadline - now).microseconds / 2) : deadline
    }

    /// How long to pause before the retry; nil when the call has failed.
    mutating func pause(after setback: Setback, jitter: Int64) -> Interval? {
        switch setback {
        case .noResponders(let isHealing):
            if isHealing { return .milliseconds(20 + jitter % 20) }
            guard mayRetry else { return nil }
            hasRetried = true
            return .milliseconds(10 + jitter % 20)
        case .refused:
            guard mayRetry else { return nil }
            hasRetried = true
            return .milliseconds(2 + jitter % 20)
        case .unsent:
            guard mayRetry else { return nil }
            hasRetried = true
            // By then the library knows that it is disconnected, and buffers what is published.
            return .milliseconds(50 + jitter % 50)
        case .silence:
            guard mayRetry else { return nil }
            hasRetried = true
            return .zero
        }
    }
}

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
    /// - Returns: The serialized reply.
    /// - Throws: As `Caller.call`.
    public func callRaw(subject: String, body: [UInt8], context: CallContext, idempotent: Bool) async throws -> [UInt8] {
        guard let observer else { return try await insist(subject, body, context, idempotent) }
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
            let reply = try await insist(subject, body, inner, idempotent)
            end(nil)
            return reply
        } catch {
            end((error as? ServiceError)?.code ?? .cancelled)
            throw error
        }
    }

    /// Sends until there is a reply, or the policy gives up.
    private func insist(_ subject: String, _ body: [UInt8], _ context: CallContext, _ idempotent: Bool) async throws -> [UInt8] {
        let headers = context.headers
        let deadline = context.deadline
        var policy = CallPolicy(isIdempotent: idempotent)
        var again: UInt64?
        while true {
            let now = SystemClock.now()
            guard now < deadline else { throw ServiceError.deadlineExceeded }
            let timeout = Tick(deadline: policy.timeout(now: now, deadline: deadline))
            let setback: CallPolicy.Setback
            let failure: ServiceError
            switch await exchange(subject, headers: headers, body: body, until: timeout, token: &again) {
            case .reply(let message):
                guard let error = ServiceError(reply: message) else { return message.body }
                guard error.code == .unavailable else { throw error }
                (setback, failure, again) = (.refused, error, nil)
            case .expired: (setback, failure) = (.silence, .deadlineExceeded)
            case .noResponders: (setback, failure, again) = (.noResponders(isHealing: isHealing), .unavailable(), nil)
            case .cancelled: throw CancellationError()
            case .failed(let error):
                guard error.code == .unavailable else { throw error }
                (setback, failure, again) = (.unsent, error, nil)
            }
            let jitter = Int64(Entropy.below(1_000))
            guard let pause = policy.pause(after: setback, jitter: jitter) else { throw failure }
            if pause > .zero { try await Task.sleep(for: .microseconds(pause.microseconds)) }
        }
    }

    /// Sends once and waits for the reply.
    ///
    /// - Parameter token: The number of an earlier sending, whose reply counts as well; afterwards that of this one.
    private func exchange(
        _ subject: String,
        headers: BusHeaders,
        body: [UInt8],
        until deadline: Tick,
        token: inout UInt64?
    ) async -> PendingRequests.Outcome {
        do {
            let number = try send(subject, headers: headers, body: body, until: deadline, again: token)
            token = number
            return await requests.outcome(of: number)
        } catch {
            return .failed(error)
        }
    }
}
