public import Bus
internal import FoundationEssentials
public import Kernel

/// Moves the one clock of a development environment and waits until every replica has done what became due (PF-7).
public struct DevelopmentClockCoordinator: Sendable {
    let bus: BusConnection
    private let clock: DevelopmentClock

    /// - Parameter clock: the coordinator's own process reads this one.
    public init(bus: BusConnection, clock: DevelopmentClock) {
        self.bus = bus
        self.clock = clock
    }

    /// Takes up the offset an earlier coordinator stored.
    public func restore() async throws { clock.shift(to: try await DevelopmentClockState(bus: bus).load()) }

    /// Moves the clock to `target`; every due job for the skipped time has run when it returns.
    ///
    /// - Parameters:
    ///   - limit: how long that may take.
    ///   - replicas: how many obey the clock; nil asks the bus in every round, which takes 0.3 s each time.
    /// - Throws: `VALIDATION_ERROR` naming `set` when the target lies behind the present, also because another client moved the clock
    ///   meanwhile, or after `DevelopmentClock.latest`; `DEADLINE_EXCEEDED` when the environment is still busy after `limit`;
    ///   `CancellationError`.
    public func set(to target: Instant, limit: Interval = .seconds(120), replicas: Int? = nil) async throws {
        guard target <= DevelopmentClock.latest else { throw Self.beyond("set") }
        try await move(field: "set", limit: limit, replicas: replicas) { max(target, .epoch) - $1 }
    }

    /// Moves the clock forward by a step, from wherever it is: steps that are asked for at once, in any gateway, add up.
    ///
    /// - Parameters:
    ///   - step: not negative.
    ///   - limit: as for `set`.
    ///   - replicas: as for `set`.
    /// - Throws: `VALIDATION_ERROR` naming `advance_seconds` when the step is negative or leads beyond `DevelopmentClock.latest`;
    ///   `DEADLINE_EXCEEDED` as for `set`.
    public func advance(by step: Interval, limit: Interval = .seconds(120), replicas: Int? = nil) async throws {
        guard step <= DevelopmentClock.longestShift else { throw Self.beyond("advance_seconds") }
        try await move(field: "advance_seconds", limit: limit, replicas: replicas) { present, _ in present + step }
    }

    private func move(
        field: String,
        limit: Interval,
        replicas: Int?,
        to next: (_ present: Interval, _ now: Instant) -> Interval
    ) async throws {
        let deadline = SystemClock.now() + limit
        let offset = try await store(field: field, deadline: deadline, next)
        clock.shift(to: offset)
        var quietRounds = 0
        // One service's work is the next one's event: quiet means that no replica had anything to do twice in a row.
        while quietRounds < 2 {
            // A cancelled task collects no answers: it would ask without a pause.
            try Task.checkCancellation()
            guard SystemClock.now() < deadline else { throw ServiceError.deadlineExceeded }
            quietRounds = try await round(offset, replicas: replicas, deadline: deadline) ? quietRounds + 1 : 0
        }
    }

    /// Stores the offset that follows the one that is stored; computes it anew when another client was faster.
    private func store(field: String, deadline: Instant, _ next: (Interval, Instant) -> Interval) async throws -> Interval {
        let state = DevelopmentClockState(bus: bus)
        while true {
            let stored = try await state.read()
            // The clock may be ahead: the stream can have been lost with its broker's disk.
            let present = max(stored.offset, clock.shift)
            // Read once, for the target is compared with it.
            let now = SystemClock.now()
            let offset = next(present, now)
            guard offset >= present else {
                throw ServiceError.validation(field: field, "must not move the clock back: it shows \(now + present)")
            }
            guard now + offset <= DevelopmentClock.latest else { throw Self.beyond(field) }
            if try await state.store(offset, after: stored.sequence) { return offset }
            guard SystemClock.now() < deadline else { throw ServiceError.deadlineExceeded }
        }
    }

    private static func beyond(_ field: String) -> ServiceError {
        .validation(field: field, "must not move the clock beyond \(DevelopmentClock.latest)")
    }

    private struct ServiceInfo: Decodable {
        let metadata: [String: String]?
    }

    /// Asks every replica to settle. - Returns: whether none had anything to do.
    private func round(_ offset: Interval, replicas known: Int?, deadline: Instant) async throws -> Bool {
        let replicas = if let known { known } else { try await countReplicas() }
        let answers = try await bus.scatter(
            DevelopmentClockAgent.subject,
            body: Array("\(offset.microseconds)".utf8),
            for: deadline - SystemClock.now(),
            atMost: replicas
        )
        return answers.count >= replicas && answers.allSatisfy { String(decoding: $0.body, as: UTF8.self).hasSuffix(" 0") }
    }

    /// How many replicas obey the clock.
    public func countReplicas() async throws -> Int {
        let services = try await bus.scatter("$SRV.INFO", body: [], for: .milliseconds(300), atMost: 1_000)
        return services.filter {
            (try? JSONDecoder().decode(ServiceInfo.self, from: Data($0.body)))?.metadata?[DevelopmentClockAgent.mark] != nil
        }.count
    }
}
