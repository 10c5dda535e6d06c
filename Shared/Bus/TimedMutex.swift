internal import Dispatch
internal import Synchronization

/// A value that must be checked again at a certain time.
protocol TimedValue: Sendable {
    /// When it must be checked at the latest; nil for never.
    var wakeAt: Tick? { get }
}

/// A value behind a lock, with the timer for its `wakeAt`.
///
/// The thread that changes the value sets the timer under the same lock. Otherwise two threads could set the timer in another order
/// than they changed the value, and the earlier time would be lost. The timer only moves to earlier times: it may ring early, for a
/// time that the value no longer has, and is then set again.
final class TimedMutex<Value: TimedValue>: Sendable {
    private struct Locked {
        var value: Value
        /// When the timer will ring.
        var armed = Tick.never
        var ring: (@Sendable () -> Void)?
    }

    private let locked: Mutex<Locked>
    private let timer: DispatchTimer

    init(_ value: Value, label: String) {
        locked = Mutex(Locked(value: value))
        timer = DispatchTimer(label: label)
        timer.activate { [weak self] in self?.rang() }
    }

    /// Calls `ring` at the value's time or earlier; `ring` then asks the value what is due.
    func onWake(_ ring: @escaping @Sendable () -> Void) { locked.withLock { $0.ring = ring } }

    /// Reads or changes the value.
    @discardableResult
    func withLock<Result: Sendable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try locked.withLock { locked throws(Failure) -> Result in
            defer {
                if let due = locked.value.wakeAt, due < locked.armed {
                    locked.armed = due
                    timer.set(due)
                }
            }
            return try body(&locked.value)
        }
    }

    private func rang() {
        let ring = locked.withLock { locked in
            locked.armed = .never
            return locked.ring
        }
        ring?()
    }
}

/// A timer of Dispatch. Private to this file: setting a timer without a common lock loses deadlines.
private final class DispatchTimer: @unchecked Sendable {
    // Dispatch sources are thread-safe, but are not declared Sendable.
    private let source: any DispatchSourceTimer

    init(label: String) {
        source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: label))
        source.schedule(deadline: .distantFuture)
    }

    deinit { source.cancel() }

    func activate(_ ring: @escaping @Sendable () -> Void) {
        source.setEventHandler(handler: ring)
        source.activate()
    }

    /// Rings at `tick`, never earlier.
    func set(_ tick: Tick) {
        source.schedule(deadline: DispatchTime(uptimeNanoseconds: tick.nanoseconds), leeway: .milliseconds(1))
    }
}
