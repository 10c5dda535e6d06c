internal import Database
internal import Kernel
internal import Logging
internal import Runtime
private import Synchronization

/// Whether this machine's clock agrees with the database's, which all replicas of a service share.
///
/// A replica that is ahead would settle dates before they are over, and delete what is to be kept for longer. So while it is ahead by more
/// than `most` its jobs wait, and those of the other replicas go on. One that is behind only comes late.
final class ClockCheck: Sendable {
    /// How far ahead jobs still run: dates are settled a minute after they are over.
    static let most = Interval.minutes(1)
    /// From which difference on an operator should act: deadlines of requests travel as times of day.
    static let notable = Interval.seconds(2)
    private static let interval = Duration.seconds(10)
    /// An answer that took longer says too little.
    private static let slowest = Duration.seconds(1)
    /// The log has a difference that lasts once in so many questions.
    private static let repeated = 60

    /// What time it was, by the database.
    private struct Reading {
        let database: Instant
        let at: ContinuousClock.Instant
    }

    private let database: Database
    private let machine: any Clock
    private let logger: Logger
    private let last = Mutex<Reading?>(nil)

    /// - Parameter machine: the clock that is checked.
    init(database: Database, logger: Logger, machine: any Clock = SystemClock()) {
        self.database = database
        self.logger = logger
        self.machine = machine
    }

    /// A check that has asked once, and shows in `/metrics` how far the machine is ahead.
    static func begin(_ database: Database, _ logger: Logger, _ metrics: Metrics) async -> ClockCheck {
        let check = ClockCheck(database: database, logger: logger)
        try? await check.ask()
        metrics.measured("streaksnap_clock_lead_seconds", help: "How far this machine's clock is ahead of the database's.") {
            check.lead.map { Double($0.microseconds) / 1_000_000 }
        }
        return check
    }

    /// How far this machine is ahead of the database now, negative when it is behind; nil when the database has not said what time it is.
    /// A clock that is set shows at once, since what has passed since the database was asked is measured by another one.
    var lead: Interval? {
        guard let reading = last.withLock({ $0 }) else { return nil }
        return machine.now() - (reading.database + Interval(reading.at.duration(to: .now)))
    }

    /// Whether jobs may run.
    var isRight: Bool { lead.map { $0 <= Self.most } ?? true }

    /// Asks until the task is cancelled, and says when the two differ.
    func run() async {
        var questions = 0
        while !Task.isCancelled {
            _ = try? await withTimeLimit(.seconds(10), ask)
            if let lead, lead.isNotable {
                if questions % Self.repeated == 0 { report(lead) }
                questions += 1
            } else {
                if questions > 0 { logger.notice("this machine's clock agrees with the database's again") }
                questions = 0
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Asks the database what time it is.
    @Sendable func ask() async throws {
        let began = ContinuousClock.now
        let rows = try await database.query("SELECT clock_timestamp()")
        let took = began.duration(to: .now)
        guard took < Self.slowest, let stated = try rows.first?.decode(as: Instant.self) else { return }
        // It was asked in between.
        last.withLock { $0 = Reading(database: stated, at: began.advanced(by: took / 2)) }
    }

    private func report(_ lead: Interval) {
        logger.error(
            "this machine's clock differs from the database's",
            metadata: [
                "secondsAhead": "\(lead.seconds)",
                "jobs": isRight ? "run" : "wait",
                "wayOut": "Set the clock of the one that is wrong, and run NTP on both.",
            ]
        )
    }
}

extension Interval {
    fileprivate init(_ duration: Duration) { self.init(microseconds: Int64(duration / .microseconds(1))) }

    fileprivate var isNotable: Bool { self > ClockCheck.notable || self < .zero - ClockCheck.notable }
}
