public import Bus
internal import FoundationEssentials
public import Kernel

/// Moves the one clock of a development environment and waits until every replica has done what became due (PF-7).
public struct DevelopmentClockCoordinator: Sendable {
    let bus: BusConnection
    private let clock: DevelopmentClock
    private let isPrivate: Bool

    /// - Parameters:
    ///   - clock: the coordinator's own process reads this one.
    ///   - isPrivate: the environment has no users but the caller's: then it is quiet only when no replica has done anything between two rounds,
    ///     however the work went from one to the other. Among others who are busy that may never be so.
    public init(bus: BusConnection, clock: DevelopmentClock, isPrivate: Bool = false) {
        self.bus = bus
        self.clock = clock
        self.isPrivate = isPrivate
    }

    /// Takes up the offset an earlier coordinator stored.
    public func restore() async throws { clock.shift(to: try await DevelopmentClockState(bus: bus).load()) }

    /// Moves the clock to `target`; every due job for the skipped time has run when it returns.
    ///
    /// - Parameters:
    ///   - limit: how long that may take.
    ///   - replicas: how many obey the clock; nil asks the bus, which takes 0.3 s, and again when the answer is a second old.
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
        try await settle(offset, replicas: replicas, deadline: deadline)
    }

    /// Waits until nothing is under way, without moving the clock: requests before it have had all their effects, as far as these are not due later.
    ///
    /// - Parameters: as for `set`.
    /// - Throws: `DEADLINE_EXCEEDED` when the environment is still busy after `limit`; `UNAVAILABLE` when the broker does not answer;
    ///   `CancellationError`.
    public func waitUntilQuiet(limit: Interval = .seconds(120), replicas: Int? = nil) async throws {
        let deadline = SystemClock.now() + limit
        let stored = try await DevelopmentClockState(bus: bus).load()
        clock.shift(to: stored)
        try await settle(stored, replicas: replicas, deadline: deadline)
    }

    /// Has the replicas do what is due until they are quiet. One service's work is the next one's event: quiet means that no replica had anything to do
    /// twice in a row.
    private func settle(_ offset: Interval, replicas: Int?, deadline: Instant) async throws {
        var before: Int?
        var counted: (replicas: Int, until: Instant)?
        while true {
            // A cancelled task collects no answers: it would ask without a pause.
            try Task.checkCancellation()
            guard SystemClock.now() < deadline else { throw ServiceError.deadlineExceeded }
            var limit = deadline - SystemClock.now()
            let count: Int
            if let replicas {
                count = replicas
            } else if let known = counted, SystemClock.now() < known.until {
                count = known.replicas
                // One that has left since does not answer: then they are counted anew.
                limit = min(limit, .seconds(2))
            } else {
                count = try await countReplicas()
                counted = (count, SystemClock.now() + .seconds(1))
            }
            let answers = try await ask(offset, replicas: count, for: limit)
            if answers.count < count { counted = nil }
            let done = answers.count < count ? nil : Self.done(answers)
            if let done, let before, done == before || !isPrivate { return }
            before = done
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

    /// Asks every replica to settle.
    private func ask(_ offset: Interval, replicas: Int, for limit: Interval) async throws -> [BusMessage] {
        let body = Array("\(offset.microseconds)".utf8)
        return try await bus.scatter(DevelopmentClockAgent.subject, body: body, for: limit, atMost: replicas)
    }

    /// What all replicas have done so far when none had anything to do; else nil.
    private static func done(_ answers: [BusMessage]) -> Int? {
        var done = 0
        for answer in answers {
            let parts = String(decoding: answer.body, as: UTF8.self).split(separator: " ")
            guard parts.last == "0" else { return nil }
            // A replica of an earlier release does not say it.
            done += parts.count > 2 ? Int(parts[1]) ?? 0 : 0
        }
        return done
    }

    /// How many replicas obey the clock.
    public func countReplicas() async throws -> Int {
        let services = try await bus.scatter("$SRV.INFO", body: [], for: .milliseconds(300), atMost: 1_000)
        return services.filter {
            (try? JSONDecoder().decode(ServiceInfo.self, from: Data($0.body)))?.metadata?[DevelopmentClockAgent.mark] != nil
        }.count
    }
}
