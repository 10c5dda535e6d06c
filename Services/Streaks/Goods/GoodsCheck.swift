internal import Database
internal import Kernel
internal import Replicas
internal import StreaksCore
internal import StreaksDomain

/// Whether goods could be taken and used now (BI-5): asked before a user pays. It tries what the good would do on the ledgers as they stand,
/// and keeps nothing of it.
struct GoodsCheck: Sendable {
    let store: StreakStore
    let database: Database

    /// Why a user should not pay for these; nil: nothing speaks against it.
    func refusal(of good: StreakGood, _ count: Int32, for user: UserID, now: Instant) async throws -> ServiceError? {
        switch good {
        case .freeze: return try await freezes(count, user, now)
        case .insurance:
            guard try await EntitlementReplica().isPremium(user, now: now, database) else { return nil }
            return ServiceError(
                .failedPrecondition,
                "POWER_UP_NOT_NEEDED",
                "Your premium plan insures every typed streak already."
            )
        case .repair:
            return try await first(of: [.checkIn], user, now) { ledger, policy, state in repair(user, ledger, policy, state) }
        case .restore:
            return try await first(of: StreakKind.solo, user, now) { ledger, policy, state in repair(user, ledger, policy, state)
            }
        case .timeMachine:
            // A checkpoint may hide the missed date.
            return try await first(of: StreakKind.solo, user, isWhole: true, now) { ledger, policy, state in
                fill(user, ledger, policy, state)
            }
        case .shield, .boosterOfXP, .doubleDay: return nil
        }
    }

    /// On how many of a user's streaks a good could be used; nil for what is for no streak that is named.
    func streaks(for good: StreakGood, of user: UserID) async throws -> Int32? {
        let kinds = PowerUp.streaks(of: good)
        guard !kinds.isEmpty else { return nil }
        return Int32(clamping: try await store.unendedIDs(of: user, kinds: kinds, database).count)
    }

    /// What the cap leaves room for, credits counted as in hand.
    private func freezes(_ count: Int32, _ user: UserID, _ now: Instant) async throws -> ServiceError? {
        let policy = store.policies.policy(for: .checkIn)
        let cap = policy.freezes?.cap ?? 0
        let credits = try await GoodsStock.count(of: .freeze, of: user, database)
        var held: Int32
        if let streak = try await streaks([.checkIn], user).first {
            held = Int32(fold(streak.ledger, policy, at: max(now, streak.row.settledAt)).freezesHeld)
        } else {
            held = try await EntitlementReplica().isPremium(user, now: now, database) ? 2 : 1
        }
        held += credits
        return held + count <= Int32(cap) ? nil : .maxFreezes(held, cap)
    }

    /// nil when one of the streaks accepts it; otherwise the refusal of the last.
    private func first(
        of kinds: [StreakKind],
        _ user: UserID,
        isWhole: Bool = false,
        _ now: Instant,
        _ refused: (StreakLedger, StreakPolicy, StreakState) -> ServiceError?
    ) async throws -> ServiceError? {
        var last = ServiceError(.failedPrecondition, "STREAK_NOT_BROKEN", "None of your streaks needs it now.")
        for streak in try await streaks(kinds, user, isWhole: isWhole) {
            let policy = store.policies.policy(for: streak.row.kind)
            let at = max(now, streak.row.settledAt)
            guard let refusal = refused(streak.ledger, policy, fold(streak.ledger, policy, at: at)) else { return nil }
            last = refusal
        }
        return last
    }

    private func repair(_ user: UserID, _ ledger: StreakLedger, _ policy: StreakPolicy, _ state: StreakState) -> ServiceError? {
        switch ledger.repairOutlook(by: user, policy, state) {
        case .possible: nil
        case .refused(let refusal): refusal
        }
    }

    /// A date of the last that a time machine reaches would bring a run back. The ledger is whole.
    private func fill(_ user: UserID, _ ledger: StreakLedger, _ policy: StreakPolicy, _ state: StreakState) -> ServiceError? {
        let nothing = ServiceError(
            .failedPrecondition,
            "DATE_NOT_MISSED",
            "No missed date of the last 7 days would bring a streak back."
        )
        guard let reach = policy.fillReach, let today = ledger.participants.first?.zones.date(at: state.asOf) else {
            return nothing
        }
        let trial = OperationID(high: 0, low: 0)
        for back in 1...max(1, reach) {
            let date = today.advanced(by: -back)
            guard state.mark(on: date) == .missed else { continue }
            if (try? ledger.applying(.fill(date, by: user, id: trial), policy, at: state.asOf)) != nil { return nil }
        }
        return nothing
    }

    private func streaks(_ kinds: [StreakKind], _ user: UserID, isWhole: Bool = false) async throws -> [StoredStreak] {
        try await store.load(try await store.unendedIDs(of: user, kinds: kinds, database), isWhole: isWhole)
    }
}
