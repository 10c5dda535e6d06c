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
        let ids = asked.isEmpty ? try await streaks.activeIDs(of: user) : asked
        func outcomes(_ ids: [StreakID], isWhole: Bool) async throws -> [StreakID: ContributionOutcome] {
            var outcomes: [StreakID: ContributionOutcome] = [:]
            for stored in try await streaks.ledgers(ids, isWhole: isWhole) {
                outcomes[stored.row.id] = Self.plan(stored, user, receivedAt: received, capturedAt: request.capturedAt, now: now)
            }
            return outcomes
        }
        var planned = try await outcomes(ids, isWhole: false)
        let tooShort = planned.filter { $0.value.refused == ServiceError.ledgerTooShort.reason }.map(\.key)
        if !tooShort.isEmpty { planned.merge(try await outcomes(tooShort, isWhole: true)) { $1 } }
        let clock = try await ZoneRepository.clocks(of: [user], streaks.database)[user] ?? UserClock()
        if snapWindow == .enforce, !clock.isOnTime(receivedAt: received, capturedAt: request.capturedAt) {
            for (id, outcome) in planned where outcome.refused == nil { planned[id] = Self.outsideWindow(id) }
        }
        let date = clock.zones.dateClaimed(
            receivedAt: received,
            capturedAt: request.capturedAt,
            StreakKeeper.policy
        )
        return PlanContributionReply(
            outcomes: ids.map { planned[$0] ?? ContributionOutcome(streakID: $0.description, refused: "NOT_A_MEMBER") },
            authorDate: date.description
        )
    }

    /// PW-3, where the window is enforced.
    static func outsideWindow(_ id: StreakID) -> ContributionOutcome {
        ContributionOutcome(streakID: id.description, refused: "OUTSIDE_SNAP_WINDOW")
    }

    private static func plan(
        _ stored: StoredStreak,
        _ user: UserID,
        receivedAt: Instant,
        capturedAt: Instant?,
        now: Instant
    ) -> ContributionOutcome {
        let id = stored.row.id
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
