/// What lives on a loop: it is called by the loop's thread only.
public protocol LoopParticipant: AnyObject, Sendable {
    /// Readable when it wants a turn: usually that of a `SocketSet` of its own. The same for as long as it takes part.
    var descriptor: Int32 { get }

    /// Does everything that can be done now. Must not block.
    ///
    /// - Parameter isReadable: whether `descriptor` was readable when the turn began.
    func turn(isReadable: Bool) -> LoopMembership

    /// The turn ends: sends what was written in it.
    func flush()

    /// The loop wants to sleep. From then until the next turn, whatever gives this work must make `descriptor` readable or wake the loop.
    ///
    /// - Returns: for how many milliseconds it may sleep, -1 without limit; nil when there is work already.
    func rest() -> Int32?

    /// The loop has stopped; nothing more is called.
    func ended()
}

/// Whether a participant takes part in the following turns.
public enum LoopMembership: Sendable {
    case stay
    case leave
}
