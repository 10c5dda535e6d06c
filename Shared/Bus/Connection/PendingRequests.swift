internal import CNats
internal import Glibc
internal import Kernel

/// The open requests of one connection: a `RequestTable` with its inbox, its timer and its continuations.
///
/// The reply subject of a request is `<inbox prefix>.<name>.<token>.any`; an instance of a service that answers appends its own id, so that
/// each reply says whose it is and no header is needed. A request to one instance has that instance's id in the place of `any`, so that the
/// broker's 503 says which instance has ended. Other software replies to the subject as it is.
///
/// Every service may publish to every inbox, and a service that was called once knows the prefix of this connection's inbox. So
/// each request has a token of 64 unguessable bits.
final class PendingRequests: MessageTarget {
    typealias Outcome = RequestOutcome<BusMessage>

    private typealias Table = RequestTable<UnsafeContinuation<Outcome, Never>, BusMessage>

    private struct Pending: TimedValue {
        var table = Table()
        var tokens = RandomWords()
        /// Pings whose answers are awaited.
        var rounds: [UInt64: CalledService] = [:]

        var wakeAt: Tick? { table.wakeAt }
    }

    /// Where the broker and other software answer: `<inbox prefix>.<name>.*.*`.
    var subject: String { prefix + "*.*" }
    /// Where instances answer: `<inbox prefix>.<name>.*.*.*`.
    var replies: String { prefix + "*.*.*" }
    /// What to subscribe to.
    var subjects: [String] { [subject, replies] }
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
    ///
    /// - Parameter instance: the one that it is sent to; nil for any.
    func replySubject(_ token: UInt64, instance: InstanceID? = nil) -> String {
        let suffix = instance == nil ? ReplySubject.any.utf8.count : Self.digits
        let length = prefixLength + Self.digits + 1 + suffix
        return String(unsafeUninitializedCapacity: length) { buffer in
            _ = buffer.initialize(fromContentsOf: prefix.utf8)
            Hex.write(token, to: UnsafeMutableBufferPointer(rebasing: buffer[prefixLength...]))
            let rest = UnsafeMutableBufferPointer(rebasing: buffer[(prefixLength + Self.digits)...])
            rest[0] = UInt8(ascii: ".")
            let end = UnsafeMutableBufferPointer(rebasing: rest[1...])
            if let instance {
                Hex.write(instance.number, to: end)
            } else {
                _ = end.initialize(fromContentsOf: ReplySubject.any.utf8)
            }
            return length
        }
    }

    /// Opens a request.
    func open(until deadline: Tick) throws(ServiceError) -> UInt64 {
        try pending.withLock { pending throws(ServiceError) -> UInt64 in
            while true {
                let token = pending.tokens.next()
                if try pending.table.open(token, deadline: deadline) { return token }
            }
        }
    }

    /// The request is about to be sent again: it stays open until `remove`.
    func keep(_ token: UInt64, until deadline: Tick) throws(ServiceError) {
        try pending.withLock { pending throws(ServiceError) in try pending.table.keep(token, deadline: deadline) }
    }

    /// What comes of a request next; cancelling the task makes it `.cancelled`.
    ///
    /// - Parameter silentAt: when it is `.silence`, if nothing came.
    func outcome(of token: UInt64, silentAt: Tick = .never) async -> Outcome {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                perform(pending.withLock { $0.table.wait(token, continuation, silentAt: silentAt) })
            }
        } onCancel: {
            perform(pending.withLock { $0.table.settle(token, .cancelled) })
        }
    }

    /// The outcome is no longer needed.
    func remove(_ token: UInt64) { pending.withLock { $0.table.remove(token) } }

    /// The token for pings of a service; their answers reach it until `endRound`.
    func beginRound(of service: CalledService) -> UInt64 {
        pending.withLock { pending in
            let token = pending.tokens.next()
            pending.rounds[token] = service
            return token
        }
    }

    func endRound(_ token: UInt64) { pending.withLock { $0.rounds[token] = nil } }

    /// Fails all open and all later requests.
    func close() {
        let error = ServiceError.unavailable("The connection to the message bus is closed.")
        for action in pending.withLock({ $0.table.close(error) }) { perform(action) }
    }

    func arrived(_ message: OpaquePointer) {
        guard let (token, instance) = address(of: message) else { return natsMsg_DestroyHere(message) }
        // A reply may be empty; only the broker's 503 means that there is no responder.
        let isRefusal = natsMsg_GetDataLength(message) == 0 && natsMsg_IsNoResponders(message)
        let reply = BusMessage(taking: message)
        let (action, pinging) = pending.withLock { pending in
            let action = pending.table.settle(token, isRefusal ? .noResponders(instance: instance) : .reply(reply))
            return (action, pending.rounds.isEmpty ? nil : pending.rounds[token])
        }
        perform(action)
        guard let pinging, let instance else { return }
        if isRefusal { pinging.gone(instance) } else { pinging.answered(instance) }
    }

    /// The digits of a token in a subject.
    private static let digits = 16

    /// The request that a message is for, and whose it is.
    private func address(of message: OpaquePointer) -> (token: UInt64, instance: InstanceID?)? {
        // The whole subject was compared with the subscription's (`MessageReceiver`): what follows the prefix are two or three tokens.
        guard let subject = natsMsg_GetSubject(message) else { return nil }
        let end = prefixLength + Self.digits
        let length = strnlen(subject, end + 2 * (1 + Self.digits) + 1)
        guard length > end + 1, subject[end] == CChar(bitPattern: UInt8(ascii: ".")),
            let token = Hex.value(UnsafeRawBufferPointer(start: subject + prefixLength, count: Self.digits))
        else { return nil }
        let rest = UnsafeRawBufferPointer(start: subject + end + 1, count: length - end - 1)
        let last = UnsafeRawBufferPointer(rebasing: rest[(rest.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0)...])
        if last.elementsEqual(ReplySubject.any.utf8) { return (token, nil) }
        return InstanceID(last).map { (token, $0) }
    }

    private func perform(_ action: Table.Action) {
        if case .resume(let waiter, let outcome) = action { waiter.resume(returning: outcome) }
    }

    private func expire() {
        for action in pending.withLock({ $0.table.expire(now: .now()) }) { perform(action) }
    }
}

/// The subjects of replies.
enum ReplySubject {
    /// The last token of a request to any instance.
    static let any = "any"

    /// Where an instance sends its reply: to a subject of our own form with its id appended.
    static func from(_ instance: InstanceID, _ subject: String) -> String {
        guard subject.utf8.withContiguousStorageIfAvailable(isOurs) ?? false else { return subject }
        var reply = subject
        reply.append(".")
        reply.append(instance.text)
        return reply
    }

    /// Whether a subject ends with a token and `any` or an instance's id.
    private static func isOurs(_ subject: UnsafeBufferPointer<UInt8>) -> Bool {
        let dot = UInt8(ascii: ".")
        let isForAny = subject.count > 4 && subject.suffix(4).elementsEqual(".any".utf8)
        let end = subject.count - (isForAny ? 4 : 17)
        guard end > 17, subject[end] == dot, subject[end - 17] == dot, Hex.value(subject[end - 16..<end]) != nil
        else { return false }
        return isForAny || InstanceID(subject[(end + 1)...]) != nil
    }

    /// Whose reply came at a subject; nil when it does not say.
    static func instance(_ subject: String) -> InstanceID? { InstanceID(subject.utf8.suffix(16)) }
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
        case .expired, .silence: throw ServiceError.deadlineExceeded
        case .cancelled: throw CancellationError()
        case .failed(let error): throw error
        }
    }
}
