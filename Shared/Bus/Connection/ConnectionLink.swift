internal import Kernel

/// Which connection of the library a `BusConnection` uses, and whether a task makes another. Events in, actions out, no I/O.
///
/// Only one task at a time makes connections, because it also attaches the subscriptions to its connection. If the connection ends
/// meanwhile, `settle` notices; if it ends later, `lost` reports it, and the caller of `lost` makes the next.
struct ConnectionLink<Handle: Sendable>: Sendable {
    /// What to do with a new connection.
    enum Adoption: Sendable {
        /// Attach the subscriptions under this number, then `settle`; close the connection that it replaces.
        case use(generation: Int, replaces: Handle?)
        /// Close it: the bus was closed meanwhile.
        case discard
    }

    /// What to do after all subscriptions are attached.
    enum Settlement: Sendable {
        case done
        /// It ended meanwhile.
        case dialAgain
        /// The bus was closed meanwhile.
        case stop
    }

    /// The connection in use; nil before the first, and at the end.
    private(set) var handle: Handle?
    /// The number of the connection in use.
    private(set) var generation = 0
    /// Whether the bus was closed.
    private(set) var isClosed = false
    /// Whether a task makes a connection, or attaches the subscriptions to it.
    private(set) var isDialing = true
    private var isAway = false
    private var reconnectedAt: Tick?

    /// The dialling task has made a connection.
    mutating func adopt(_ new: Handle) -> Adoption {
        guard !isClosed else { return .discard }
        let old = handle
        handle = new
        generation += 1
        return .use(generation: generation, replaces: old)
    }

    /// All subscriptions are attached to the connection in use.
    ///
    /// - Parameters:
    ///   - isOpen: Whether the library keeps that connection open; called while this is locked.
    ///   - isConnected: Whether its broker can be reached; likewise.
    mutating func settle(isOpen: Bool, isConnected: Bool, now: Tick) -> Settlement {
        guard !isClosed else { return .stop }
        guard isOpen else { return .dialAgain }
        isDialing = false
        isAway = !isConnected
        // The first connection is no reconnect.
        if generation > 1 { reconnectedAt = now }
        return .done
    }

    /// The library has abandoned the connection in use.
    ///
    /// - Returns: Whether the caller makes the next one.
    mutating func lost() -> Bool {
        guard !isClosed, !isDialing else { return false }
        isDialing = true
        return true
    }

    /// The connection in use has lost its broker; the library reconnects it.
    mutating func disconnected() { isAway = true }

    /// It has reconnected.
    mutating func reconnected(now: Tick) {
        isAway = false
        reconnectedAt = now
    }

    /// Whether the broker is down, or was less than `grace` ago.
    func isHealing(now: Tick, grace: Interval) -> Bool {
        // The library sends its buffer before it reports the reconnect: replies may arrive while the broker still counts as down.
        if isAway { return true }
        guard let reconnectedAt else { return false }
        return now < reconnectedAt + grace
    }

    /// Whether the connection was made anew after `tick`: a request that was sent before may be lost.
    func wasRenewed(after tick: Tick) -> Bool { reconnectedAt.map { $0 > tick } ?? false }

    /// The bus is closed.
    ///
    /// - Returns: The connection to close; nil when there is none, or when it was closed before.
    mutating func close() -> Handle? {
        isClosed = true
        defer { handle = nil }
        return handle
    }
}
