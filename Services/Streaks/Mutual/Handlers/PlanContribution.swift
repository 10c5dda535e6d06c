internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What would be refused of a snap, before any byte is stored (PH-1). Recording decides again.
struct PlanContribution: QueryHandler {
    let store: StreakStore
    let snapWindow: SnapWindowRule
    let clock: any Clock

    func handle(_ request: PlanContributionRequest, _: CallContext) async throws -> PlanContributionReply {
        let user = request.userID
        if let prompt = request.promptID, !PromptName.isKnown(prompt) {
            throw ServiceError.validation(field: "prompt_id", "must name a prompt, as GET /api/prompts/today does")
        }
        let asked = RecordContribution.distinct(request.streakIDs)
        let received = request.receivedAt ?? clock.now()
        let now = clock.now()
        let clock = try await ZoneRepository.clocks(of: [user], store.database)[user] ?? UserClock()
        let date = clock.zones.dateClaimed(receivedAt: received, capturedAt: request.capturedAt, .mutual)
        // Plain reads: what is decided here is decided again under locks when it is recorded.
        let ids = asked.isEmpty ? try await targets(of: user, on: date, by: clock.zones) : asked
        func outcomes(_ ids: [StreakID], isWhole: Bool) async throws -> [StreakID: ContributionOutcome] {
            var outcomes: [StreakID: ContributionOutcome] = [:]
            for stored in try await store.load(ids, isWhole: isWhole) where stored.row.kind == .mutual {
                outcomes[stored.row.id] = Self.plan(stored, user, receivedAt: received, capturedAt: request.capturedAt, now: now)
            }
            return outcomes
        }
        var planned = try await outcomes(ids, isWhole: false)
        let tooShort = planned.filter { $0.value.refused == ServiceError.ledgerTooShort.reason }.map(\.key)
        if !tooShort.isEmpty { planned.merge(try await outcomes(tooShort, isWhole: true)) { $1 } }
        if snapWindow == .enforce, !clock.isOnTime(receivedAt: received, capturedAt: request.capturedAt) {
            for (id, outcome) in planned where outcome.refused == nil { planned[id] = ContributionOutcome(outsideWindow: id) }
        }
        return PlanContributionReply(
            outcomes: ids.map { planned[$0] ?? ContributionOutcome(streakID: $0, refused: "NOT_A_MEMBER") },
            authorDate: date
        )
    }

    /// What a snap for all is for: the streaks that were active on the date that it claims, also those that have broken since, not those that
    /// began later. Where there was none, those that are active now: it counts for the time of receipt.
    private func targets(of user: UserID, on date: CalendarDate, by zones: ZoneHistory) async throws -> [StreakID] {
        let active = try await store.startsOfActive(of: user, kind: .mutual, store.database)
        let begun = active.filter { zones.firstDate(at: $0.startedAt) <= date }.map(\.id)
        let then = begun + (try await store.brokenIDs(of: user, kind: .mutual, missing: date, store.database))
        return then.isEmpty ? active.map(\.id) : then
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
                .mutual,
                at: max(now, receivedAt)
            )
            return ContributionOutcome(
                streakID: id,
                date: date,
                currentCount: stored.row.count,
                longestCount: stored.row.longest,
                friendID: stored.row.partner(of: user)
            )
        } catch {
            return ContributionOutcome(streakID: id, refused: error.reason)
        }
    }
}
