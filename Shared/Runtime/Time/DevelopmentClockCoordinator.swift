public import Bus
internal import FoundationEssentials
public import Kernel

/// Moves the one clock of a development environment and waits until every replica has done what became due (PF-7).
public struct DevelopmentClockCoordinator: Sendable {
    private let bus: BusConnection
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
    /// - Throws: `VALIDATION_ERROR` naming `set` when the target lies behind the present or after `DevelopmentClock.latest`;
    ///   `DEADLINE_EXCEEDED` when the environment is still busy after `limit`.
    public func set(to target: Instant, limit: Interval = .seconds(120), replicas: Int? = nil) async throws {
        guard target >= clock.now() else { throw ServiceError.validation(field: "set", "must not lie behind the present time") }
        guard target <= DevelopmentClock.latest else {
            throw ServiceError.validation(field: "set", "must not lie after \(DevelopmentClock.latest)")
        }
        let offset = target - SystemClock.now()
        try await DevelopmentClockState(bus: bus).store(offset)
        clock.shift(to: offset)
        let deadline = SystemClock.now() + limit
        var quietRounds = 0
        // One service's work is the next one's event: quiet means that nobody had anything to do twice in a row.
        while quietRounds < 2 {
            guard SystemClock.now() < deadline else { throw ServiceError.deadlineExceeded }
            quietRounds = try await round(offset, replicas: replicas, deadline: deadline) ? quietRounds + 1 : 0
        }
    }

    private struct ServiceInfo: Decodable {
        let metadata: [String: String]?
    }

    /// Asks every replica to settle. - Returns: whether nobody had anything to do.
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
