internal import Kernel
internal import Logging
public import Wire

/// Whether and how a call is tried again: pure, one per call.
///
/// A method that is idempotent is sent a second time, once: when an instance refused it (overloaded, stopping), when the connection broke
/// under it, or when half of the time has passed in silence (the instance may have died); the first answer to either sending counts. Nobody at all listening is no
/// reason to wait, except while the broker is away and right after, when the others are still on their way back; nobody got the
/// request then, so any method may be sent again. At other times an idempotent call takes one more look some 20 ms later: a
/// broker that stops lets its clients go one after the other.
struct CallPolicy {
    /// What went wrong.
    enum Setback: Equatable {
        /// An instance answered `UNAVAILABLE`.
        case refused
        /// The connection broke while it was sent.
        case unsent
        /// No answer within `patience`.
        case silence
        /// Nobody listens.
        case noResponders(isHealing: Bool)
    }

    let isIdempotent: Bool
    private var hasRetried = false

    init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

    private var mayRetry: Bool { isIdempotent && !hasRetried }

    /// Until when to wait for an answer to what is sent now.
    func patience(now: Instant, deadline: Instant) -> Instant {
        mayRetry ? now + Interval(microseconds: (deadline - now).microseconds / 2) : deadline
    }

    /// How long to pause before sending again; nil when the call has failed.
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
            // By then the library knows that it is disconnected, and keeps what is published for the time after.
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
            logger.error("bus: a reply is not what the contract says", metadata: ["method": "\(method.subject)"])
            throw ServiceError.internal
        }
    }

    /// Calls a method with bytes: context as headers, deadline, one retry, errors from error replies. What the gateway uses.
    ///
    /// - Parameters:
    ///   - subject: The method's subject, `rpc.auth.v1.Register`.
    ///   - body: The serialized request.
    ///   - context: Who asks and until when.
    ///   - idempotent: Whether doing it twice is as good as once.
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

    /// Sends until there is an answer, or the policy says that there will be none.
    private func insist(_ subject: String, _ body: [UInt8], _ context: CallContext, _ idempotent: Bool) async throws -> [UInt8] {
        let headers = context.headers
        let deadline = context.deadline
        var policy = CallPolicy(isIdempotent: idempotent)
        var again: UInt64?
        while true {
            let now = SystemClock.now()
            guard now < deadline else { throw ServiceError.deadlineExceeded }
            let patience = Tick(deadline: policy.patience(now: now, deadline: deadline))
            let setback: CallPolicy.Setback
            let failure: ServiceError
            switch await exchange(subject, headers: headers, body: body, until: patience, token: &again) {
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

    /// Sends once and waits.
    ///
    /// - Parameter token: The number of an earlier sending, whose answer counts as well; then that of this one.
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
