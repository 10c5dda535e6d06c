internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Counts a snap: the dates, the counts and the answer are one transaction, once an operation (MS-2). Streaks that refuse are reported, the
/// rest count it (PH-1).
struct RecordContribution: MutationHandler {
    let writer: StreakWriter
    let mutations: Mutations
    let snapWindow: SnapWindowRule
    let clock: any Clock

    func handle(_ request: RecordContributionRequest, _ context: CallContext) async throws -> Once<RecordContributionReply> {
        let (operation, user) = (request.operationID, request.userID)
        let ids = Self.distinct(request.streakIDs)
        let received = request.receivedAt ?? clock.now()
        return try await mutations.once(operation: operation, of: user, context, request) { [writer, snapWindow] work in
            let clock = try await ZoneRepository.clocks(of: [user], work.sql)[user] ?? UserClock()
            let onTime = clock.isOnTime(receivedAt: received, capturedAt: request.capturedAt)
            let claim = clock.zones.claim(receivedAt: received, capturedAt: request.capturedAt, .mutual)
            let stored = try await writer.store.lock(ids, work.sql).filter { $0.row.kind == .mutual && $0.hasMember(user) }
            var outcomes: [StreakID: ContributionOutcome] = [:]
            if snapWindow == .enforce, !onTime {
                for streak in stored { outcomes[streak.row.id] = ContributionOutcome(outsideWindow: streak.row.id) }
            } else {
                let results = try await writer.apply(
                    .contribute(user, receivedAt: received, capturedAt: request.capturedAt),
                    toEach: stored,
                    operation: operation,
                    isOnTime: onTime,
                    work
                )
                for (streak, result) in zip(stored, results) {
                    outcomes[streak.row.id] = ContributionOutcome(result, of: user, in: streak.row)
                }
            }
            let all = ids.map { outcomes[$0] ?? ContributionOutcome(streakID: $0, refused: "NOT_A_MEMBER") }
            return .success(
                RecordContributionReply(
                    outcomes: all,
                    onTime: onTime,
                    capturedAt: claim.at,
                    capturedAtIgnored: claim.isCaptureIgnored
                )
            )
        }
    }

    /// Each once, in the order given.
    static func distinct(_ ids: [StreakID]) -> [StreakID] {
        var seen: Set<StreakID> = []
        return ids.filter { seen.insert($0).inserted }
    }
}

extension ContributionOutcome {
    /// What became of a streak that a snap was to count for.
    fileprivate init(_ result: Result<PlannedChange, ServiceError>, of user: UserID, in row: StreakRow) {
        let id = row.id
        switch result {
        case .failure(let refusal): self.init(streakID: id, refused: refusal.reason)
        case .success(let written):
            let (change, date) = (written.change, written.change.creditedTo)
            let milestone = change.effects.compactMap { effect -> Int? in
                if case .milestone(let count, _, _, _) = effect { return count }
                return nil
            }.max()
            self.init(
                streakID: id,
                date: date,
                dateCompleted: date.map { change.state.mark(on: $0) == .complete } ?? false,
                currentCount: Int32(change.state.count),
                longestCount: Int32(change.state.longest),
                milestone: Int32(milestone ?? 0),
                friendID: row.partner(of: user)
            )
        }
    }

    /// A snap outside its window, where that is enforced (PW-3).
    init(outsideWindow streak: StreakID) { self.init(streakID: streak, refused: "OUTSIDE_SNAP_WINDOW") }
}
