internal import Kernel

/// The outcome of a request.
enum RequestOutcome<Reply: Sendable>: Sendable {
    /// A reply arrived.
    case reply(Reply)
    /// The broker reports that there is no responder.
    case noResponders
    /// The deadline passed.
    case expired
    /// The caller's task was cancelled.
    case cancelled
    /// It could not be sent, or the connection closed.
    case failed(ServiceError)
}

/// All open requests. Events in, actions out, no I/O.
///
/// A request is opened, sent, and then awaited. The reply, the deadline, a cancellation and the end of the connection may come
/// before or after the wait begins; the first decides, later ones are ignored. So a reply may overtake the code that sends, and
/// many requests can be sent before the first is awaited.
///
/// The owner chooses the tokens of requests. A reply with an unknown token changes nothing and costs one lookup.
struct RequestTable<Waiter: Sendable, Reply: Sendable>: TimedValue {
    /// What the owner must do.
    enum Action: Sendable {
        case nothing
        case resume(Waiter, RequestOutcome<Reply>)
    }

    private enum Slot: Sendable {
        case open(Tick)
        case waiting(Tick, Waiter)
        case settled(RequestOutcome<Reply>)

        var deadline: Tick {
            switch self {
            case .open(let deadline), .waiting(let deadline, _): deadline
            case .settled: .never
            }
        }
    }

    private var slots: [UInt64: Slot] = [:]
    private var closed: ServiceError?
    /// Never later than any deadline.
    private var earliest = Tick.never

    /// When the owner must call `expire` at the latest; nil when no deadline is known.
    var wakeAt: Tick? { earliest == .never ? nil : earliest }

    /// How many requests are open.
    var count: Int { slots.count }

    /// Opens a request.
    ///
    /// - Returns: False when the token is in use: the owner chooses another.
    /// - Throws: The error that the table was closed with.
    mutating func open(_ token: UInt64, deadline: Tick) throws(ServiceError) -> Bool {
        guard slots[token] == nil else { return false }
        try reopen(token, deadline: deadline)
        return true
    }

    /// Opens a request again under its old token, so that the reply to either sending counts.
    mutating func reopen(_ token: UInt64, deadline: Tick) throws(ServiceError) {
        if let closed { throw closed }
        slots[token] = .open(deadline)
        earliest = min(earliest, deadline)
    }

    /// A task waits for the outcome.
    mutating func wait(_ token: UInt64, _ waiter: Waiter) -> Action {
        switch slots[token] {
        case .open(let deadline):
            slots[token] = .waiting(deadline, waiter)
            return .nothing
        case .settled(let outcome):
            slots[token] = nil
            return .resume(waiter, outcome)
        case .waiting, nil:
            return .resume(waiter, .failed(closed ?? .internal))
        }
    }

    /// The request is decided: by a reply, a cancellation, or a failure to send.
    mutating func settle(_ token: UInt64, _ outcome: RequestOutcome<Reply>) -> Action {
        switch slots[token] {
        case .open:
            slots[token] = .settled(outcome)
            return .nothing
        case .waiting(_, let waiter):
            slots[token] = nil
            return .resume(waiter, outcome)
        case .settled, nil:
            return .nothing
        }
    }

    /// No task will wait for this request.
    mutating func remove(_ token: UInt64) {
        if case .waiting = slots[token] { return }
        slots[token] = nil
    }

    /// Checks for deadlines that have passed.
    ///
    /// - Returns: The continuations to resume with `.expired`.
    mutating func expire(now: Tick) -> [Waiter] {
        var waiters: [Waiter] = []
        earliest = .never
        for (token, slot) in slots {
            if slot.deadline > now {
                earliest = min(earliest, slot.deadline)
            } else if case .waiting(_, let waiter) = slot {
                slots[token] = nil
                waiters.append(waiter)
            } else {
                slots[token] = .settled(.expired)
            }
        }
        return waiters
    }

    /// The connection has ended: nothing more can be opened.
    ///
    /// - Returns: The continuations to resume with `.failed(error)`.
    mutating func close(_ error: ServiceError) -> [Waiter] {
        closed = error
        var waiters: [Waiter] = []
        for (token, slot) in slots {
            switch slot {
            case .waiting(_, let waiter):
                slots[token] = nil
                waiters.append(waiter)
            case .open: slots[token] = .settled(.failed(error))
            case .settled: continue
            }
        }
        return waiters
    }
}
