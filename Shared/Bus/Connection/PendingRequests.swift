internal import CNats
internal import Glibc
internal import Kernel

/// The open requests of one connection: a `RequestTable` with its inbox, its timer and its continuations.
///
/// Every service may publish to every inbox, and a service that was called once knows the prefix of this connection's inbox. So
/// each request has a token of 64 unguessable bits.
final class PendingRequests: MessageTarget {
    typealias Outcome = RequestOutcome<BusMessage>

    private typealias Table = RequestTable<UnsafeContinuation<Outcome, Never>, BusMessage>

    private struct Pending: TimedValue {
        var table = Table()
        var tokens = RandomWords()

        var wakeAt: Tick? { table.wakeAt }
    }

    /// What to subscribe to: `<inbox prefix>.<name>.*`.
    var subject: String { prefix + "*" }
    private let prefix: String
    private let prefixLength: Int
    private let pending = TimedMutex(Pending(), label: "bus.deadlines")

    init(inboxPrefix: String) {
        prefix = "\(inboxPrefix).\(Entropy.name())."
        prefixLength = prefix.utf8.count
        pending.onWake { [weak self] in self?.expire() }
    }

    /// How many requests wait for a reply.
    var count: Int { pending.withLock { $0.table.count } }

    /// The subject for the reply to request `token`.
    func replySubject(_ token: UInt64) -> String {
        String(unsafeUninitializedCapacity: prefixLength + Self.digits) { buffer in
            _ = buffer.initialize(fromContentsOf: prefix.utf8)
            Hex.write(token, to: UnsafeMutableBufferPointer(rebasing: buffer[prefixLength...]))
            return prefixLength + Self.digits
        }
    }

    /// Opens a request; with `again`, one that was opened before.
    func open(until deadline: Tick, again token: UInt64? = nil) throws(ServiceError) -> UInt64 {
        try pending.withLock { pending throws(ServiceError) -> UInt64 in
            if let token {
                try pending.table.reopen(token, deadline: deadline)
                return token
            }
            while true {
                let token = pending.tokens.next()
                if try pending.table.open(token, deadline: deadline) { return token }
            }
        }
    }

    /// The outcome of a request; cancelling the task makes it `.cancelled`.
    func outcome(of token: UInt64) async -> Outcome {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                perform(pending.withLock { $0.table.wait(token, continuation) })
            }
        } onCancel: {
            perform(pending.withLock { $0.table.settle(token, .cancelled) })
        }
    }

    /// The outcome is no longer needed.
    func remove(_ token: UInt64) { pending.withLock { $0.table.remove(token) } }

    /// Fails all open and all later requests.
    func close() {
        let error = ServiceError.unavailable("The connection to the message bus is closed.")
        for waiter in pending.withLock({ $0.table.close(error) }) { waiter.resume(returning: .failed(error)) }
    }

    func arrived(_ message: OpaquePointer) {
        guard let token = token(of: message) else { return natsMsg_Destroy(message) }
        // A reply may be empty; only the broker's 503 means that there is no responder.
        let isRefusal = natsMsg_GetDataLength(message) == 0 && natsMsg_IsNoResponders(message)
        let reply = BusMessage(taking: message)
        perform(pending.withLock { $0.table.settle(token, isRefusal ? .noResponders : .reply(reply)) })
    }

    /// The digits of a token in a subject.
    private static let digits = 16

    private func token(of message: OpaquePointer) -> UInt64? {
        // The whole subject was compared with the subscription's (`MessageReceiver`): what follows the prefix is one token.
        guard let subject = natsMsg_GetSubject(message) else { return nil }
        let length = prefixLength + Self.digits
        guard strnlen(subject, length + 1) == length else { return nil }
        return Hex.value(UnsafeRawBufferPointer(start: subject + prefixLength, count: Self.digits))
    }

    private func perform(_ action: Table.Action) {
        if case .resume(let waiter, let outcome) = action { waiter.resume(returning: outcome) }
    }

    private func expire() {
        for waiter in pending.withLock({ $0.table.expire(now: .now()) }) { waiter.resume(returning: .expired) }
    }
}

/// A request that was sent, whose reply can be awaited later, so that many can be in flight in order.
public final class PendingReply: Sendable {
    private let requests: PendingRequests
    private let token: UInt64

    init(_ requests: PendingRequests, _ token: UInt64) {
        self.requests = requests
        self.token = token
    }

    deinit { requests.remove(token) }

    /// The reply. Call it once.
    ///
    /// - Throws: `ServiceError` `UNAVAILABLE` without a responder or when the connection was closed, `DEADLINE_EXCEEDED`;
    ///   `CancellationError` when the task was cancelled.
    public func value() async throws -> BusMessage { try await requests.outcome(of: token).reply() }
}

extension RequestOutcome where Reply == BusMessage {
    /// The reply, or the error for callers.
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
