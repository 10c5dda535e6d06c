public import Bus
internal import Kernel
public import Logging

/// Keeps a process's development clock at the stored offset. So all processes show the same date a moment after one has stored an offset, also
/// when it was killed before it said so to any other, and when they start later or were cut off meanwhile (PF-7).
public struct DevelopmentClockFollower: Sendable {
    private let clock: DevelopmentClock
    private let state: DevelopmentClockState
    private let restoresState: Bool
    private let interval: Duration

    /// A follower of what is stored on this bus.
    ///
    /// - Parameters:
    ///   - restoresState: whether it stores the clock's offset again when the broker has lost it: for one who may, the gateway.
    ///   - interval: how often it asks; default a second.
    public init(
        clock: DevelopmentClock,
        bus: BusConnection,
        logger: Logger,
        restoresState: Bool = false,
        interval: Duration = .seconds(1)
    ) {
        self.clock = clock
        self.state = DevelopmentClockState(bus: bus, logger: logger)
        self.restoresState = restoresState
        self.interval = interval
    }

    /// Follows until the task is cancelled. While the broker is away the clock just runs; a question that waits is answered with the reconnect.
    public func run() async {
        while !Task.isCancelled {
            try? await follow()
            try? await Task.sleep(for: interval)
        }
    }

    private func follow() async throws {
        let stored = try await state.read()
        clock.shift(to: stored.offset)
        let shift = clock.shift
        // What this clock shows was stored once.
        if restoresState, stored.offset < shift { _ = try await state.store(shift, after: stored.sequence) }
    }
}
