internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a repair would need, and whether it is possible (CI-3).
struct RepairOffers: Sendable {
    let database: Database

    /// The rules for a streak as it stands.
    func rules(for streak: SettledCheckIns) -> RepairRules {
        RepairRules(
            broken: streak.broken,
            lastRepair: streak.ledger.lastRepair(by: streak.state.asOf),
            zone: streak.zone
        )
    }

    /// Whether premium's one of the present UTC month is still there.
    func isFreeRepairLeft(for user: UserID, at now: Instant, _ sql: some QueryExecutor) async throws -> Bool {
        let month = PerfectPeriods.month(of: Zone.utc.date(at: now))
        return try await !PaymentRepository.isFreeRepairUsed(
            by: user,
            from: Zone.utc.start(of: month.lowerBound),
            until: Zone.utc.end(of: month.upperBound),
            sql
        )
    }

    /// What the status shows; nil when nothing is broken, or a new run goes on after the window.
    func offer(to user: UserID, _ streak: SettledCheckIns, isPremium: Bool) async throws -> RepairOffer? {
        guard let broken = streak.broken else { return nil }
        let (now, deadline) = (streak.state.asOf, broken.at + RepairRules.window)
        guard streak.state.count == 0 || now <= deadline else { return nil }
        var refusal: ServiceError?
        do { try rules(for: streak).check(receivedAt: now) } catch { refusal = error }
        let isFreeLeft = isPremium ? try await isFreeRepairLeft(for: user, at: now, database) : false
        return RepairOffer(
            brokenStreakValue: Int32(broken.count),
            missedDates: streak.missedDates(of: user),
            streakBrokenAt: broken.at,
            repairDeadline: deadline,
            costUsd: RepairRules.price.value,
            costXp: Int32(XPRules.repairPrice),
            costCoins: Int32(RepairRules.coins),
            freeRepairAvailable: isFreeLeft,
            credits: try await GoodsStock.count(of: .repair, of: user, database),
            eligible: refusal == nil,
            reason: refusal?.reason
        )
    }
}
