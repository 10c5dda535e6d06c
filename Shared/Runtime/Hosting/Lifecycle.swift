public import Logging
private import Synchronization

/// The parts of a process in the order in which they were started; they stop in the reverse order.
public final class Lifecycle: Sendable {
    private let parts = Mutex<[Part]>([])
    private let logger: Logger

    private struct Part: Sendable {
        let name: String
        let stop: @Sendable () async -> Void
    }

    /// Nothing runs yet. Starts and stops are logged at level debug.
    public init(logger: Logger) { self.logger = logger }

    /// A part runs now; `stop` ends it.
    public func started(_ name: String, stop: @escaping @Sendable () async -> Void) {
        parts.withLock { $0.append(Part(name: name, stop: stop)) }
        logger.debug("started", metadata: ["part": "\(name)"])
    }

    /// Stops the part that was started last, then the one before, and so on.
    public func stop() async {
        while let part = parts.withLock({ $0.popLast() }) {
            await part.stop()
            logger.debug("stopped", metadata: ["part": "\(part.name)"])
        }
    }
}
