internal import Kernel
internal import Outbox
internal import StreaksCore
internal import StreaksDomain

/// Shields that were bought (TS-3): they protect the check-in streak at once, or wait in the stock for a first check-in or for their use
/// (`BoughtShield`).
struct BoughtShields: Sendable {
    let writer: StreakWriter

    /// - Parameter obtainedAt: when they were paid for; nil: now.
    func grant(_ count: Int32, to user: UserID, obtainedAt: Instant?, _ work: UnitOfWork) async throws {
        if writer.boughtShield == .armed,
            try await writer.arm(shields: Int(count), of: user, at: obtainedAt ?? work.now, work)
        {
            return
        }
        try await GoodsStock.give(.shield, count, to: user, work.sql)
    }

    /// Takes shields back, those of the stock first, then those that protect and are not spent; the others are missing.
    ///
    /// - Returns: how many were taken.
    func take(upTo count: Int32, from user: UserID, _ work: UnitOfWork) async throws -> Int32 {
        // The streak before the stock, as everywhere.
        let streak = try await writer.lockedSolo(.checkIn, of: user, work)
        let stocked = try await GoodsStock.take(upTo: count, of: .shield, from: user, work.sql)
        guard stocked < count, let streak else { return stocked }
        let state = fold(streak.ledger, writer.policy(for: .checkIn), at: max(work.now, streak.row.settledAt))
        let held = min(count - stocked, Int32(clamping: state.protections.count { $0.kind == .shield }))
        guard held > 0 else { return stocked }
        try await writer.apply(.takeShields(Int(held)), to: streak, work)
        return stocked + held
    }
}
