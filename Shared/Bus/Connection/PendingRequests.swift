internal import CNats
internal import Kernel
internal import Synchronization

/// The requests of one connection that await answers: a `RequestTable` with its inbox, its alarm and its continuations.
final class PendingRequests: MessageTarget {
    typealias Outcome = RequestOutcome<BusMessage>
    private typealias Table = RequestTable<UnsafeContinuation<Outcome, Never>, BusMessage>

    /// `<inbox prefix>.<name>.`: what comes before the number of a request.
    let prefix: String
    private let prefixLength: Int
    private let table = Mutex(Table())
    private let alarm = Mutex<Alarm?>(nil)

    init(inboxPrefix: String) {
        prefix = "\(inboxPrefix).\(Entropy.name())."
        prefixLength = prefix.utf8.count
        let alarm = Alarm(label: "bus.deadlines") { [weak self] in self?.expire() }
        self.alarm.withLock { $0 = alarm }
    }

    /// How many requests await an answer.
    var count: Int { table.withLock { $0.count } }

    /// Where the answer to request `token` goes.
    func replySubject(_ token: UInt64) -> String { prefix + String(token) }

    /// Opens a request; with `again`, one that was opened before.
    func open(until deadline: Tick, again token: UInt64? = nil) throws(ServiceError) -> UInt64 {
        let opened = try table.withLock { table throws(ServiceError) -> Table.Opened in
            guard let token else { return try table.open(deadline: deadline) }
            return .init(token: token, wakeAt: try table.reopen(token, deadline: deadline))
        }
        if let wakeAt = opened.wakeAt { alarm.withLock { $0?.set(wakeAt) } }
        return opened.token
    }

    /// The outcome of a request; cancelling the task makes it `.cancelled`.
    func outcome(of token: UInt64) async -> Outcome {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                perform(table.withLock { $0.wait(token, continuation) })
            }
        } onCancel: {
            perform(table.withLock { $0.settle(token, .cancelled) })
        }
    }

    /// Nobody will ask for the outcome.
    func forget(_ token: UInt64) { table.withLock { $0.forget(token) } }

    /// Fails everything that waits and everything that comes.
    func close() {
        let error = ServiceError.unavailable("The connection to the message bus is closed.")
        for waiter in table.withLock({ $0.close(error) }) { waiter.resume(returning: .failed(error)) }
    }

    func arrived(_ message: OpaquePointer) {
        guard let token = token(of: message) else { return natsMsg_Destroy(message) }
        // A reply may be empty; only the broker's own 503 means that nobody listens.
        let isRefusal = natsMsg_GetDataLength(message) == 0 && natsMsg_IsNoResponders(message)
        let reply = BusMessage(taking: message)
        perform(table.withLock { $0.settle(token, isRefusal ? .noResponders : .reply(reply)) })
    }

    private func token(of message: OpaquePointer) -> UInt64? {
        guard let subject = natsMsg_GetSubject(message) else { return nil }
        var token: UInt64 = 0
        var digits = 0
        // The subscription guarantees the prefix; its length is all that is needed of it.
        var next = subject + prefixLength
        while next.pointee != 0 {
            guard next.pointee >= 48, next.pointee <= 57, digits < 19 else { return nil }
            token = token * 10 + UInt64(next.pointee - 48)
            digits += 1
            next += 1
        }
        return digits > 0 ? token : nil
    }

    private func perform(_ action: Table.Action) {
        if case .resume(let waiter, let outcome) = action { waiter.resume(returning: outcome) }
    }

    private func expire() {
        let (waiters, wakeAt) = table.withLock { $0.expire(now: .now()) }
        if let wakeAt { alarm.withLock { $0?.set(wakeAt) } }
        for waiter in waiters { waiter.resume(returning: .expired) }
    }
}

/// A request that was sent and whose answer can be waited for later, so that many can be on their way in order.
public final class PendingReply: Sendable {
    private let requests: PendingRequests
    private let token: UInt64

    init(_ requests: PendingRequests, _ token: UInt64) {
        self.requests = requests
        self.token = token
    }

    deinit { requests.forget(token) }

    /// The answer. To be asked for once.
    ///
    /// - Throws: `ServiceError` `UNAVAILABLE` when nobody listens or the connection was closed, `DEADLINE_EXCEEDED`;
    ///   `CancellationError` when the task was cancelled.
    public func value() async throws -> BusMessage { try await requests.outcome(of: token).reply() }
}

extension RequestOutcome where Reply == BusMessage {
    /// The reply, or the error that the outcome means to callers.
    func reply() throws -> BusMessage {
        switch self {
        case .reply(let message): return message
        case .noResponders: throw ServiceError.unavailable()
        case .expired: throw ServiceError.deadlineExceeded
        case .cancelled: throw CancellationError()
        case .failed(let error): throw error
        }
    }
}
