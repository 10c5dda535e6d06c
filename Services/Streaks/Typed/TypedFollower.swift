internal import Kernel
package import Outbox
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// What changes of typed streaks mean for their users: coins, XP, and which breaks were undone. In the transaction that causes it.
package struct TypedFollower: StreakFollower {
    package init() {}

    package func follow(_ all: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        let changes = all.filter { StreakKind.typed.contains($0.row.kind) && !$0.change.effects.isEmpty }
        guard !changes.isEmpty else { return }
        try await RestoreRepository.add(changes.flatMap(Self.restored), work.sql)
        let rewards = try await TypedRewards.of(changes, work)
        for reward in rewards where reward.isHelpedByDouble {
            try await DoubleDays.setHelped(reward.user, on: reward.date, work.sql)
        }
        try XPLedger.post(rewards.compactMap(\.xp), work)
        try await work.emit(
            rewards.map {
                CoinsEarned(userID: $0.user, amount: Int64($0.coins), cause: $0.cause.rawValue, key: $0.key, at: work.now)
            }
        )
    }

    private static func restored(_ change: PlannedChange) -> [RestoreRepository.Restored] {
        guard let user = change.row.members.first else { return [] }
        return change.change.effects.compactMap { effect in
            guard case .restored(let date) = effect else { return nil }
            return RestoreRepository.Restored(streak: change.row.id, user: user, date: date)
        }
    }
}
