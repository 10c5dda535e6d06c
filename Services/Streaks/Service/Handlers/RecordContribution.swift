internal import Bus
internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// MS-2: the date, the count and the answer are one transaction. Streaks that refuse are reported, the rest go through (PH-1).
    func recordContribution(_ request: RecordContributionRequest, context: CallContext) async throws -> RecordContributionReply {
        let operation = try OperationID(parsing: request.operationID, field: "operation_id")
        let user = try UserID(parsing: request.userID, field: "user_id")
        let ids = try Self.streakIDs(request.streakIDs)
        let received = request.receivedAt ?? clock.now()
        return try await work.run(context) { [self] work in
            if let answer = try await OperationRepository.claim(operation, user: user, now: work.now, work.sql) { return answer }
            let stored = Dictionary(
                try await streaks.lock(ids, work.sql).map { ($0.row.id, $0) },
                uniquingKeysWith: { first, _ in first }
            )
            let clock = try await ZoneRepository.clocks(of: [user], work.sql)[user] ?? UserClock()
            let onTime = clock.isOnTime(receivedAt: received, capturedAt: request.capturedAt)
            var outcomes: [ContributionOutcome] = []
            for id in ids {
                guard let streak = stored[id] else {
                    outcomes.append(ContributionOutcome(streakID: id.description, refused: "NOT_A_MEMBER"))
                    continue
                }
                if snapWindow == .enforce, !onTime, streak.row.hasMember(user) {
                    outcomes.append(Self.outsideWindow(id))
                    continue
                }
                outcomes.append(
                    try await record(user, in: streak, operation, receivedAt: received, capturedAt: request.capturedAt, work)
                )
            }
            try await tellTotals(outcomes, of: user, isOnTime: onTime, work)
            let reply = RecordContributionReply(outcomes: outcomes, onTime: onTime)
            try await OperationRepository.store(reply, of: operation, work.sql)
            return reply
        }
    }

    private func record(
        _ user: UserID,
        in stored: StoredStreak,
        _ operation: OperationID,
        receivedAt: Instant,
        capturedAt: Instant?,
        _ work: UnitOfWork
    ) async throws -> ContributionOutcome {
        let id = stored.row.id.description
        do {
            let change = try await keeper.apply(
                .contribute(user, receivedAt: receivedAt, capturedAt: capturedAt),
                to: stored,
                newPhotos: 1,
                work
            )
            guard let date = change.creditedTo,
                let contribution = change.ledger.contributions[date]?.last(where: { $0.user == user })
            else { throw ServiceError.internal }
            try await streaks.insert(contribution, to: stored.row.id, operation: operation, work.sql)
            let friend = stored.row.friend(of: user)
            let isComplete = change.state.mark(on: date) == .complete
            try await work.emit(
                SnapCounted(
                    streakID: id,
                    userID: user.description,
                    friendID: friend.description,
                    date: date.description,
                    dateCompleted: isComplete,
                    currentCount: Int32(change.state.count),
                    countedAt: change.state.asOf
                )
            )
            let milestone = change.effects.compactMap { effect -> Int? in
                if case .milestone(let count, _, _) = effect { return count }
                return nil
            }.max()
            return ContributionOutcome(
                streakID: id,
                date: date.description,
                dateCompleted: isComplete,
                currentCount: Int32(change.state.count),
                longestCount: Int32(change.state.longest),
                milestone: Int32(milestone ?? 0),
                friendID: friend.description
            )
        } catch let refusal as ServiceError where refusal.code != .internal {
            return ContributionOutcome(streakID: id, refused: refusal.reason)
        }
    }

    /// The author's totals, and the friends' whose longest streak may have grown. A snap is one however many streaks it counts for.
    private func tellTotals(_ outcomes: [ContributionOutcome], of user: UserID, isOnTime: Bool, _ work: UnitOfWork) async throws {
        let accepted = outcomes.filter { $0.refused == nil }
        guard !accepted.isEmpty else { return }
        let friends = accepted.filter(\.dateCompleted).compactMap { UserID($0.friendID) }
        for person in Set(friends + [user]).sorted() {
            guard person == user else {
                try await keeper.refreshStats([person], work)
                continue
            }
            let (totals, onTime) = try await StatsRepository.refresh(user, newPhotos: 1, newOnTime: isOnTime ? 1 : 0, work.sql)
            try await work.emit(totals)
            if isOnTime, let earned = StreaksDomain.Achievement.earned(byOnTimeSnap: onTime) {
                try await Achievements.grant([Achievements.Grant(user, earned)], work)
            }
        }
    }

    static func streakIDs(_ texts: [String]) throws -> [StreakID] {
        var seen: Set<StreakID> = []
        return try texts.enumerated().compactMap { index, text in
            let id = try StreakID(parsing: text, field: "streak_ids[\(index)]")
            return seen.insert(id).inserted ? id : nil
        }
    }
}
