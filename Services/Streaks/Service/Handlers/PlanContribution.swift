internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// PH-1: what would be refused, before any byte is stored. Recording decides again.
    func planContribution(_ request: PlanContributionRequest, context _: CallContext) async throws -> PlanContributionReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let asked = try Self.streakIDs(request.streakIDs)
        let received = request.receivedAt ?? clock.now()
        let now = clock.now()
        // Plain reads: what is decided here is decided again under locks when it is recorded.
        async let zones = ZoneRepository.histories(of: [user], streaks.database)
        let ids = asked.isEmpty ? try await streaks.activeIDs(of: user) : asked
        let stored = Dictionary(
            try await streaks.ledgers(ids).map { ($0.row.id, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let date = (try await zones[user] ?? ZoneHistory(.utc)).dateClaimed(
            receivedAt: received,
            capturedAt: request.capturedAt,
            StreakKeeper.policy
        )
        return PlanContributionReply(
            outcomes: ids.map { id in
                Self.plan(id, stored[id], user, receivedAt: received, capturedAt: request.capturedAt, now: now)
            },
            authorDate: date.description
        )
    }

    private static func plan(
        _ id: StreakID,
        _ stored: StoredStreak?,
        _ user: UserID,
        receivedAt: Instant,
        capturedAt: Instant?,
        now: Instant
    ) -> ContributionOutcome {
        guard let stored else { return ContributionOutcome(streakID: id.description, refused: "NOT_A_MEMBER") }
        do throws(ServiceError) {
            let date = try stored.ledger.dateCredited(
                to: user,
                receivedAt: receivedAt,
                capturedAt: capturedAt,
                StreakKeeper.policy,
                at: max(now, receivedAt)
            )
            return ContributionOutcome(
                streakID: id.description,
                date: date.description,
                currentCount: stored.row.count,
                longestCount: stored.row.longest,
                friendID: stored.row.friend(of: user).description
            )
        } catch {
            return ContributionOutcome(streakID: id.description, refused: error.reason)
        }
    }
}
