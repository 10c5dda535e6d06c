internal import BillingAPI
internal import Bus
internal import Kernel
internal import MediaAPI
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// One streak with today's two snaps and its 90-day calendar (MS-5). A user who is no member, or may not see the partner, is answered as if
/// there were none.
struct GetStreak: QueryHandler {
    /// How long the detail waits for what other services know.
    private static let timeout = Interval.seconds(2)

    let views: MutualViews
    let snaps: SnapsClient
    let billing: BillingClient
    let closed: ClosedDates

    func handle(_ request: GetStreakRequest, _ context: CallContext) async throws -> StreakDetail {
        let user = try context.requireUser()
        let id = request.streakID
        guard let view = try await views.streaks(.one(id), of: user, withPartners: true, context).first else {
            throw ServiceError.notFound("streak")
        }
        let closedFrom = try await closed.first(of: view.row)
        let (others, seen) = try await concurrently {
            try await concurrently {
                await self.todaysSnaps(view, closedFrom, user, context)
            } _: {
                await self.tokensLeft(context)
            }
        } _: {
            try await self.views.whole(id, seenBy: user)
        }
        let (shown, tokens) = others
        guard let (stored, state) = seen else { throw ServiceError.notFound("streak") }
        let dates = view.yourDate.advanced(by: -89)...view.yourDate
        let next = StreakPolicy.mutual.nextMilestone(of: state)
        return StreakDetail(
            streak: view.item,
            calendar: MutualView.days(dates, stored.ledger, state, reader: user).map { CalendarDay($0) },
            recoveries: Int32(state.tokensInUse),
            photoCount: view.row.contributionCount,
            nextMilestone: Int32(next ?? 0),
            daysToNextMilestone: Int32(next.map { $0 - state.count } ?? 0),
            snapsAvailable: shown != nil,
            yourSnap: shown?.yourSnap.map { StreakSnap($0) },
            friendSnap: shown?.friendSnap.map { StreakSnap($0) },
            locked: shown?.locked ?? false,
            recovery: recovery(of: stored, state, by: user, tokens: tokens)
        )
    }

    /// What a token could do now; `tokens` is nil when billing did not say.
    private func recovery(of stored: StoredStreak, _ state: StreakState, by user: UserID, tokens: Int32?) -> StreakRecovery {
        var recovery = StreakRecovery(tokensLeft: tokens)
        switch stored.ledger.recoveryOutlook(by: user, .mutual, state) {
        case .possible(let until):
            recovery.until = until
            recovery.possible = tokens != 0
            if tokens == 0 { recovery.refused = "NO_RECOVERY_TOKENS" }
        case .refused(let error): recovery.refused = error.reason
        }
        return recovery
    }

    /// nil when billing does not answer in time.
    private func tokensLeft(_ context: CallContext) async -> Int32? {
        try? await billing.getRecoveryBalance(.init(), context: context.child(timeout: Self.timeout)).balance
    }

    /// Today's two snaps as `media` lets the reader see them; nil when it does not answer in time. The rest of the detail does not
    /// depend on it.
    private func todaysSnaps(
        _ view: MutualStreak,
        _ closedFrom: CalendarDate?,
        _ user: UserID,
        _ context: CallContext
    ) async -> GetStreakSnapsReply? {
        let request = GetStreakSnapsRequest(
            userID: user,
            streakID: view.row.id,
            friendID: view.partnerID,
            yourDate: view.yourDate,
            friendDate: view.partnerDate,
            openFrom: view.openFrom,
            friendNewestDate: view.partnerNewest,
            closedFrom: closedFrom
        )
        return try? await snaps.getStreakSnaps(request, context: context.child(timeout: Self.timeout))
    }
}

extension StreakSnap {
    fileprivate init(_ snap: MediaAPI.Snap) {
        self.init(
            id: snap.id,
            userID: snap.userID,
            photoURL: snap.photoURL,
            thumbnailURL: snap.thumbnailURL,
            width: snap.width,
            height: snap.height,
            caption: snap.caption,
            capturedAt: snap.capturedAt,
            postedAt: snap.postedAt,
            onTime: snap.onTime
        )
    }
}
