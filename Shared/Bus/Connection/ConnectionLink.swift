internal import Kernel

/// Which connection of the library a `BusConnection` uses, and whether somebody makes another: events in, actions out, no I/O.
///
/// Only one party makes connections at a time, since it alone attaches the subscriptions to the one that it made. A connection that
/// ends while that goes on is noticed by `settle`; one that ends later is reported by `lost`, and whoever reports it makes the next.
struct ConnectionLink<Handle: Sendable>: Sendable {
    /// What to do with a connection that was made.
    enum Adoption: Sendable {
        /// Attach the subscriptions under this number, then `settle`; close the connection that it replaces.
        case use(generation: Int, replaces: Handle?)
        /// Close it: the bus was closed meanwhile.
        case discard
    }

    /// What to do when all subscriptions are attached.
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
    /// Whether somebody makes a connection, or attaches the subscriptions to it.
    private(set) var isDialing = true
    private var isAway = false
    private var reconnectedAt: Tick?

    /// A connection was made, by the one who dials.
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
    ///   - isOpen: Whether the library keeps that connection up; to be asked while this is locked.
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

    /// The library gave up the connection in use.
    ///
    /// - Returns: Whether the caller makes the next one.
    mutating func lost() -> Bool {
        guard !isClosed, !isDialing else { return false }
        isDialing = true
        return true
    }

    /// The connection in use is away from its broker, and is being healed by the library.
    mutating func disconnected() { isAway = true }

    /// It is back.
    mutating func reconnected(now: Tick) {
        isAway = false
        reconnectedAt = now
    }

    /// Whether the broker is away, or was less than `grace` ago.
    func isHealing(now: Tick, grace: Interval) -> Bool {
        // The library sends what was buffered before it tells of the reconnect: answers may come while it still counts as away.
        if isAway { return true }
        guard let reconnectedAt else { return false }
        return now < reconnectedAt + grace
    }

    /// The bus is closed.
    ///
    /// - Returns: The connection to close; nil when there is none, or when it was closed before.
    mutating func close() -> Handle? {
        isClosed = true
        defer { handle = nil }
        return handle
    }
}
