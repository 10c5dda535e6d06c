public import Kernel

/// Whether a broken check-in streak can be repaired (CI-3), with what the refusal says.
public struct RepairRules: Sendable {
    /// How long after the break, the end included.
    public static let window = Interval.hours(24)
    public static let leastCount = 7
    public static let cooldownDays: Int64 = 30
    /// Prices (BI-4).
    public static let price = Dollars(cents: 299)
    public static let coins = 500

    /// A break as a repair sees it.
    public struct Break: Hashable, Sendable {
        public let count: Int
        public let at: Instant

        public init(count: Int, at: Instant) { (self.count, self.at) = (count, at) }
    }

    /// nil: nothing is broken.
    public let broken: Break?
    /// When the last repair that was not given back was made (`StreakLedger.lastRepair`).
    public let lastRepair: Instant?
    /// The zone of the user's clock, for the dates that a refusal names.
    public let zone: Zone

    public init(broken: Break?, lastRepair: Instant?, zone: Zone) {
        (self.broken, self.lastRepair, self.zone) = (broken, lastRepair, zone)
    }

    /// - Parameter receivedAt: when it was asked for.
    /// - Throws: `STREAK_NOT_BROKEN`, `REPAIR_WINDOW_EXPIRED`, `REPAIR_COOLDOWN_ACTIVE`, `STREAK_TOO_SHORT`.
    public func check(receivedAt: Instant) throws(ServiceError) {
        guard let broken else {
            throw ServiceError(.failedPrecondition, "STREAK_NOT_BROKEN", "Your streak is not broken.")
        }
        guard receivedAt <= broken.at + Self.window else {
            throw refusal(
                "REPAIR_WINDOW_EXPIRED",
                "Streak repair window has expired (24 hours)",
                [
                    ("streak_broken_at", broken.at.description), ("repair_deadline", (broken.at + Self.window).description),
                    ("current_time", receivedAt.description),
                ]
            )
        }
        if let lastRepair, receivedAt < lastRepair + .days(Self.cooldownDays) {
            let next = zone.date(at: lastRepair + .days(Self.cooldownDays))
            throw refusal(
                "REPAIR_COOLDOWN_ACTIVE",
                "You can only repair a streak once every \(Self.cooldownDays) days",
                [("last_repair_date", "\(zone.date(at: lastRepair))"), ("next_available_date", "\(next)")]
            )
        }
        guard broken.count >= Self.leastCount else {
            throw refusal(
                "STREAK_TOO_SHORT",
                "Streak must be \(Self.leastCount)+ days to repair",
                [("broken_streak_value", "\(broken.count)"), ("minimum_required", "\(Self.leastCount)")]
            )
        }
    }

    private func refusal(_ reason: String, _ message: String, _ details: [(String, String)]) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            reason,
            message,
            details: details.map { ServiceError.Detail(field: $0.0, message: $0.1) }
        )
    }
}
