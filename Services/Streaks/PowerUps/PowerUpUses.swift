internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksCore
internal import StreaksDomain

/// Uses goods (TS-3): the good leaves the stock and its effect enters the streak's ledger in one transaction, or neither.
///
/// The streak is locked before the stock, as everywhere: what the fold gives back goes the same way.
struct PowerUpUses: Sendable {
    let writer: StreakWriter

    /// What a use came to.
    struct Used: Sendable {
        let powerUp: StoredPowerUp
        let left: Int32
        let count: Int?
    }

    /// What is used, by whom and when.
    struct Use: Sendable {
        let id: OperationID
        let user: UserID
        let good: StreakGood
        let kind: StreakKind?
        let date: CalendarDate?
        /// An insurance or a shield that was asked for before midnight protects that date, and a repair is judged by it.
        let receivedAt: Instant
    }

    func use(_ use: Use, _ work: UnitOfWork) async throws -> Used {
        var stored = StoredPowerUp(
            id: use.id,
            user: use.user,
            good: use.good,
            kind: use.kind,
            date: use.date,
            state: .active,
            usedAt: use.receivedAt
        )
        var count: Int?
        if let kind = use.kind {
            count = try await useOnStreak(use, kind, &stored, work)
        } else {
            try await take(use, work)
            try await useOnUser(use, &stored, work)
        }
        // Those that protect a streak are noted with the entry of its ledger (`PowerUpFollower`).
        if use.good != .insurance, use.good != .shield { try await PowerUpRepository.insert(stored, work.sql) }
        return Used(
            powerUp: stored,
            left: try await GoodsStock.count(of: use.good, of: use.user, work.sql),
            count: count
        )
    }

    private func take(_ use: Use, _ work: UnitOfWork) async throws {
        guard try await GoodsStock.take(use.good, from: use.user, work.sql) else { throw ServiceError.notHeld(use.good) }
    }

    /// - Returns: the count after it.
    private func useOnStreak(_ use: Use, _ kind: StreakKind, _ stored: inout StoredPowerUp, _ work: UnitOfWork) async throws
        -> Int
    {
        guard let streak = try await writer.lockedSolo(kind, of: use.user, work) else { throw ServiceError.noStreak }
        let policy = writer.policy(for: kind)
        let state = fold(streak.ledger, policy, at: max(use.receivedAt, streak.row.settledAt))
        // Asked before the stock: a shield that was armed when it was bought is in no stock.
        if use.good == .shield, state.protections.contains(where: { $0.kind == .shield }) { throw ServiceError.alreadyShielded }
        try await take(use, work)
        let command: StreakCommand
        switch use.good {
        case .freeze:
            command = .grantFreezes(1, id: use.id)
            stored.state = .used
        case .repair, .restore:
            command = .repair(use.user, receivedAt: use.receivedAt, id: use.id)
            (stored.date, stored.helpedOn) = (state.lastBreak?.date, state.lastBreak?.date)
            stored.state = .used
        case .timeMachine:
            guard let date = use.date else { throw ServiceError.validation(field: "date", "must name a missed date") }
            command = .fill(date, by: use.user, id: use.id)
            (stored.state, stored.helpedOn) = (.used, date)
        case .insurance:
            guard try await !EntitlementReplica().isPremium(use.user, now: work.now, work.sql) else {
                throw ServiceError.notNeeded
            }
            guard !state.protections.contains(where: { $0.kind == .insurance }) else { throw ServiceError.alreadyActive }
            if let next = streak.ledger.insurableFrom(at: use.receivedAt) { throw ServiceError.insured(next) }
            let until = use.receivedAt + PowerUp.insuranceLength
            command = .protect(.insurance, until: until, id: use.id, receivedAt: use.receivedAt)
            (stored.until, stored.dueAt) = (until, until)
        case .shield: command = .protect(.shield, until: nil, id: use.id, receivedAt: use.receivedAt)
        case .doubleDay, .boosterOfXP: throw ServiceError.internal
        }
        let change = try await writer.apply(command, to: streak, operation: use.id, work)
        return change.change.state.count
    }

    private func useOnUser(_ use: Use, _ stored: inout StoredPowerUp, _ work: UnitOfWork) async throws {
        if use.good == .boosterOfXP {
            let end = try await Boosters.begin(use.id, for: use.user, now: work.now, work.sql)
            (stored.until, stored.dueAt) = (end, end)
            return
        }
        let zones = try await ZoneRepository.histories(of: [use.user], work.sql)[use.user] ?? ZoneHistory(.utc)
        let today = zones.date(at: work.now)
        let date = use.date ?? today
        guard date >= today, today.distance(to: date) <= PowerUp.doubleDayReach else {
            throw ServiceError.validation(field: "date", "must be today or one of the next \(PowerUp.doubleDayReach) days")
        }
        guard try await DoubleDays.add(use.id, to: date, of: use.user, work.sql) else { throw ServiceError.alreadyActive }
        stored.date = date
        stored.until = zones.end(of: date)
        stored.dueAt = zones.end(of: date) + PowerUp.doubleDayWait
    }

    /// Ends what is over by time: an insurance and a booster have run out, a double day has helped or comes back. - Returns: how many.
    func endDue(limit: Int, _ work: UnitOfWork) async throws -> Int {
        let due = try await PowerUpRepository.lockDue(now: work.now, limit: limit, work.sql)
        for used in due {
            switch used.good {
            case .doubleDay:
                guard let date = used.date else { continue }
                guard try await DoubleDays.remove(used.id, of: used.user, on: date, work.sql) else {
                    try PowerUpRepository.setUsed([used.id: date], work.sql)
                    continue
                }
                if let (user, good) = try await PowerUpRepository.setReturned(used.id, now: work.now, work.sql) {
                    try await GoodsStock.give(good, to: user, work.sql)
                }
            case .boosterOfXP: try await PowerUpRepository.setState(.used, of: used.id, work.sql)
            default: try await PowerUpRepository.setState(.expired, of: used.id, work.sql)
            }
        }
        return due.count
    }
}

extension ServiceError {
    static func notHeld(_ good: StreakGood) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "POWER_UP_NOT_HELD",
            "You have none of these.",
            details: [Detail(field: "good", message: good.rawValue)]
        )
    }

    static let noStreak = ServiceError(.failedPrecondition, "STREAK_NOT_FOUND", "You have no such streak yet.")
    static let notNeeded = ServiceError(
        .failedPrecondition,
        "POWER_UP_NOT_NEEDED",
        "Your premium plan insures every typed streak already."
    )
    static let alreadyShielded = ServiceError(
        .failedPrecondition,
        "POWER_UP_ALREADY_ACTIVE",
        "A shield protects your check-in streak already."
    )
    static func insured(_ next: Instant) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "INSURANCE_COOLDOWN_ACTIVE",
            "A streak can be insured once in 7 days.",
            details: [Detail(field: "type", message: "can be insured again from \(next) on")]
        )
    }

    static let alreadyActive = ServiceError(.failedPrecondition, "POWER_UP_ALREADY_ACTIVE", "One of these is at work already.")
}
