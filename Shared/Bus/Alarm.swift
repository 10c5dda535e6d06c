internal import Dispatch

/// Calls back at a given tick, never earlier. Setting it again replaces the time.
final class Alarm: @unchecked Sendable {
    // Dispatch sources are thread-safe; only the import does not say so.
    private let timer: any DispatchSourceTimer

    init(label: String, _ ring: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: label))
        timer.setEventHandler(handler: ring)
        timer.schedule(deadline: .distantFuture)
        timer.activate()
    }

    deinit { timer.cancel() }

    /// Rings at `tick`.
    func set(_ tick: Tick) {
        timer.schedule(deadline: DispatchTime(uptimeNanoseconds: tick.nanoseconds), leeway: .milliseconds(1))
    }
}

/// Runs blocking calls of nats.c (flush, close, waiting for a drain) outside the cooperative pool, which they would starve.
enum Blocking {
    private static let queue = DispatchQueue(label: "bus.blocking", attributes: .concurrent)

    static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}
