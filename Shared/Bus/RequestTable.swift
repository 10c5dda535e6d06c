internal import Kernel

/// What became of a request.
enum RequestOutcome<Reply: Sendable>: Sendable {
    /// Somebody answered.
    case reply(Reply)
    /// The broker says that nobody listens.
    case noResponders
    /// The deadline passed.
    case expired
    /// The caller's task was cancelled.
    case cancelled
    /// It could not be sent, or the connection closed.
    case failed(ServiceError)
}

/// All requests that await an answer: events in, actions out, no I/O.
///
/// A request is opened, sent, and then waited for. Everything else (the answer, its deadline, cancellation, the end of the connection)
/// may come before or after the waiting begins; the first of them decides, later ones are ignored. So a reply may overtake the
/// code that sends, and many requests can be sent before the first is waited for.
struct RequestTable<Waiter: Sendable, Reply: Sendable>: Sendable {
    /// What the owner must do.
    enum Action: Sendable {
        case nothing
        case resume(Waiter, RequestOutcome<Reply>)
    }

    /// A request that was opened.
    struct Opened: Sendable {
        /// Its number: the last token of its reply subject.
        let token: UInt64
        /// When the owner must call `expire` at the latest; nil when it will do so anyway.
        let wakeAt: Tick?
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
    private var nextToken: UInt64 = 1
    private var closed: ServiceError?
    /// When `expire` will be called; never later than any deadline.
    private var wakeAt = Tick.never

    /// How many requests were opened and not yet taken.
    var count: Int { slots.count }

    /// Opens a request.
    ///
    /// - Throws: The error that the table was closed with.
    mutating func open(deadline: Tick) throws(ServiceError) -> Opened {
        let token = nextToken
        nextToken += 1
        return Opened(token: token, wakeAt: try reopen(token, deadline: deadline))
    }

    /// Opens a request again under its old number, so that the answer to either sending counts.
    mutating func reopen(_ token: UInt64, deadline: Tick) throws(ServiceError) -> Tick? {
        if let closed { throw closed }
        slots[token] = .open(deadline)
        guard deadline < wakeAt else { return nil }
        wakeAt = deadline
        return deadline
    }

    /// Somebody waits for the outcome.
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

    /// Something decided the request: an answer, a cancellation, a failure to send.
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

    /// Nobody will wait for this request.
    mutating func forget(_ token: UInt64) {
        if case .waiting = slots[token] { return }
        slots[token] = nil
    }

    /// The time has come to look for deadlines that have passed.
    ///
    /// - Returns: Who to resume with `.expired`, and when to call again; nil when nothing is waiting.
    mutating func expire(now: Tick) -> (waiters: [Waiter], wakeAt: Tick?) {
        var waiters: [Waiter] = []
        wakeAt = .never
        for (token, slot) in slots {
            if slot.deadline > now {
                wakeAt = min(wakeAt, slot.deadline)
            } else if case .waiting(_, let waiter) = slot {
                slots[token] = nil
                waiters.append(waiter)
            } else {
                slots[token] = .settled(.expired)
            }
        }
        return (waiters, wakeAt == .never ? nil : wakeAt)
    }

    /// The connection has ended: nothing more can be opened.
    ///
    /// - Returns: Who to resume with `.failed(error)`.
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
