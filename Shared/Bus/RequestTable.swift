internal import Kernel

/// What comes of waiting for a request.
enum RequestOutcome<Reply: Sendable>: Sendable {
    /// A reply arrived.
    case reply(Reply)
    /// The broker reports that there is no responder; with `instance`, that this one no longer exists.
    case noResponders(instance: InstanceID?)
    /// No reply yet, at the time the waiter named. The request stays open.
    case silence
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
/// A request that is sent again (`keep`) stays until its owner removes it: it may be awaited many times, and each reply to any of its sendings
/// is one outcome, in the order of arrival.
///
/// The owner chooses the tokens of requests. A reply with an unknown token changes nothing and costs one lookup.
struct RequestTable<Waiter: Sendable, Reply: Sendable>: TimedValue {
    typealias Outcome = RequestOutcome<Reply>

    /// What the owner must do.
    enum Action: Sendable {
        case nothing
        case resume(Waiter, Outcome)
    }

    private struct Slot: Sendable {
        let deadline: Tick
        var waiter: Waiter?
        /// When the waiter wants to know that there is no reply yet.
        var silentAt = Tick.never
        /// What came while none waited.
        var outcomes: [Outcome] = []
        /// Whether it stays after an outcome.
        var isKept = false

        var wakeAt: Tick { outcomes.isEmpty ? min(deadline, silentAt) : .never }
    }

    private var slots: [UInt64: Slot] = [:]
    private var closed: ServiceError?
    /// Never later than any time of a slot.
    private var earliest = Tick.never

    /// When the owner must call `expire` at the latest; nil when no time is known.
    var wakeAt: Tick? { earliest == .never ? nil : earliest }

    /// How many requests are open.
    var count: Int { slots.count }

    /// Opens a request.
    ///
    /// - Returns: False when the token is in use: the owner chooses another.
    /// - Throws: The error that the table was closed with.
    mutating func open(_ token: UInt64, deadline: Tick) throws(ServiceError) -> Bool {
        if let closed { throw closed }
        guard slots[token] == nil else { return false }
        slots[token] = Slot(deadline: deadline)
        earliest = min(earliest, deadline)
        return true
    }

    /// The request is about to be sent again: from now on it stays until `remove`.
    mutating func keep(_ token: UInt64, deadline: Tick) throws(ServiceError) {
        if let closed { throw closed }
        var slot = slots[token] ?? Slot(deadline: deadline)
        slot.isKept = true
        slots[token] = slot
        earliest = min(earliest, slot.wakeAt)
    }

    /// A task waits for the next outcome, until `silentAt` at the latest.
    mutating func wait(_ token: UInt64, _ waiter: Waiter, silentAt: Tick = .never) -> Action {
        guard var slot = slots[token], slot.waiter == nil else { return .resume(waiter, .failed(closed ?? .internal)) }
        if slot.outcomes.isEmpty {
            (slot.waiter, slot.silentAt) = (waiter, silentAt)
            slots[token] = slot
            earliest = min(earliest, slot.wakeAt)
            return .nothing
        }
        let outcome = slot.outcomes.removeFirst()
        slots[token] = slot.isKept ? slot : nil
        return .resume(waiter, outcome)
    }

    /// Something came of the request: a reply, a cancellation, or a failure to send.
    mutating func settle(_ token: UInt64, _ outcome: Outcome) -> Action {
        guard var slot = slots[token] else { return .nothing }
        guard let waiter = slot.waiter else {
            // Of a request that is sent once, the first event decides.
            if slot.isKept || slot.outcomes.isEmpty { slots[token]?.outcomes.append(outcome) }
            return .nothing
        }
        if slot.isKept {
            (slot.waiter, slot.silentAt) = (nil, .never)
            slots[token] = slot
        } else {
            slots[token] = nil
        }
        return .resume(waiter, outcome)
    }

    /// No task will wait for this request any more.
    mutating func remove(_ token: UInt64) {
        if slots[token]?.waiter != nil { return }
        slots[token] = nil
    }

    /// Checks for times that have passed.
    ///
    /// - Returns: The continuations to resume.
    mutating func expire(now: Tick) -> [Action] {
        var actions: [Action] = []
        earliest = .never
        for (token, slot) in slots {
            if slot.wakeAt > now {
                earliest = min(earliest, slot.wakeAt)
            } else if slot.deadline <= now {
                let action = settle(token, .expired)
                if case .resume = action { actions.append(action) }
            } else if let waiter = slot.waiter {
                slots[token]?.waiter = nil
                slots[token]?.silentAt = .never
                earliest = min(earliest, slot.deadline)
                actions.append(.resume(waiter, .silence))
            }
        }
        return actions
    }

    /// The connection has ended: nothing more can be opened.
    ///
    /// - Returns: The continuations to resume.
    mutating func close(_ error: ServiceError) -> [Action] {
        closed = error
        return Array(slots.keys).compactMap { token in
            let action = settle(token, .failed(error))
            if case .resume = action { return action }
            return nil
        }
    }
}
