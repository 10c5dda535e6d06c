internal import Kernel
internal import Replicas
internal import StreaksCore
internal import StreaksDomain

/// Streaks of every kind with what they have reached, for cards about them (MC-1).
struct CelebratedStreaks: Sendable {
    let store: StreakStore
    let blocks: BlockReplica
    let circles: CircleReplica
    let clock: any Clock

    /// A streak as a card about it needs it.
    struct Found: Sendable {
        let row: StreakRow
        let state: StreakState
        let celebrations: Celebrations
        let subject: CardSubject
        let circle: CircleID?
        let nextMilestone: Int?
        /// The other one of a mutual streak.
        let friend: UserID?
    }

    /// The streak, folded from the first entry of its ledger; nil when `user` is no member of it, while a block hides the other one of the two
    /// (SO-7), and when the circle is gone.
    func find(_ id: StreakID, seenBy user: UserID) async throws -> Found? {
        // Membership first: a ledger of years is not read for a stranger.
        guard let row = try await store.row(id), row.members.contains(user) else { return nil }
        let friend = row.kind == .mutual ? row.partner(of: user) : nil
        if row.kind == .mutual {
            guard let friend, try await blocks.hidden(from: user, among: [friend]).isEmpty else { return nil }
        }
        var circle: ReplicatedCircle?
        if row.kind == .team {
            circle = try await self.circle(of: row.id)
            guard circle != nil else { return nil }
        }
        guard let stored = try await store.load([row], isWhole: true, store.database).first else { return nil }
        let policy = store.policies.policy(for: row.kind)
        let state = fold(stored.ledger, policy, at: max(clock.now(), row.settledAt))
        return Found(
            row: row,
            state: state,
            celebrations: Celebrations(state),
            subject: CardSubject(row.kind, circle: circle?.name),
            circle: circle?.id,
            nextMilestone: policy.nextMilestone(of: state),
            friend: friend
        )
    }

    private func circle(of streak: StreakID) async throws -> ReplicatedCircle? {
        guard let key = try await store.key(of: streak), let id = CircleID(key) else { return nil }
        return try await circles.circle(id)
    }
}
