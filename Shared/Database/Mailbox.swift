internal import Loop
internal import Synchronization

/// How other threads reach the loop: they add commands, the loop removes them all at once. The loop is woken only when it sleeps.
final class Mailbox: Sendable {
    /// The requests of other threads.
    enum Command: Sendable {
        case submit(Job)
        case cancel(Job)
        case connected(Connector.Handle)
        case refused(Connector.Refusal)
        /// A cancellation has reached the server, or has failed.
        case cancellationSent(slot: Int, generation: UInt64)
        /// A silent server took, or refused, a further connection.
        case probed(UInt64)
        case stop(UnsafeContinuation<Void, Never>)
        /// No more commands will come.
        case abandon
    }

    private struct State {
        var commands: [Command] = []
        var isOpen = true
        var isLoopAsleep = false
    }

    private let loop: IOLoop?
    /// Signalled when there are commands.
    let wakeUp: WakeUp
    private let state = Mutex(State())

    /// - Parameter loop: the one that reads it; nil: a thread of its own.
    /// - Returns: nil when the system has no more descriptors.
    init?(loop: IOLoop?) {
        guard let wakeUp = WakeUp() else { return nil }
        (self.loop, self.wakeUp) = (loop, wakeUp)
    }

    /// Adds a command. False when the loop has ended and will not read it.
    func post(_ command: Command) -> Bool { post(CollectionOfOne(command)) }

    /// Adds commands, which the loop reads together. False when it has ended and will not read them.
    func post(_ commands: some Collection<Command>) -> Bool {
        let (isOpen, mustWake) = state.withLock { state in
            guard state.isOpen else { return (false, false) }
            state.commands.append(contentsOf: commands)
            defer { state.isLoopAsleep = false }
            return (true, state.isLoopAsleep)
        }
        // A loop that runs on this thread takes them in this turn or the next.
        if mustWake, !(loop?.isCurrent ?? false) { wakeUp.signal() }
        return isOpen
    }

    /// Whether the loop may sleep; from then on a command wakes it.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isLoopAsleep = state.commands.isEmpty
            return state.isLoopAsleep
        }
    }

    /// The loop is awake; returns its commands.
    func take() -> [Command] {
        state.withLock { state in
            state.isLoopAsleep = false
            guard !state.commands.isEmpty else { return [] }
            defer {
                state.commands = []
                state.commands.reserveCapacity(64)
            }
            return state.commands
        }
    }

    /// Closes the mailbox; returns the last commands.
    func shut() -> [Command] {
        state.withLock { state in
            state.isOpen = false
            defer { state.commands = [] }
            return state.commands
        }
    }
}
