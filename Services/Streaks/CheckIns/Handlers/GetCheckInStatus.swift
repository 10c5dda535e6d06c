internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// How the check-in streak stands.
struct GetCheckInStatus: QueryHandler {
    let streaks: CheckInStreaks
    let repairs: RepairOffers
    let clock: any Clock

    func handle(_: GetCheckInStatusRequest, _ context: CallContext) async throws -> GetCheckInStatusReply {
        let user = try context.requireUser()
        let now = clock.now()
        let read = try await streaks.read(user, with: StatusFacts.query(of: user, now: now), context)
        let facts = try StatusFacts(read.facts)
        let isPremium = facts.isPremium
        guard let streak = read.streak else { return try await fresh(user, isPremium, context) }
        let (state, last) = (streak.state, facts.lastCheckIn)
        let week = PerfectPeriods.week(of: streak.today)
        let isDone = streak.ledger.hasContributed(user, on: streak.today, known: state.asOf)
        let isPaused = state.pause.map { $0.from <= streak.today } ?? false
        let every = FreezePrices.earnedEvery(isPremium: isPremium)
        return GetCheckInStatusReply(
            data: CheckInStatus(
                currentStreak: Int32(state.count),
                longestStreak: Int32(state.longest),
                freezesAvailable: Int32(state.freezesLeft),
                lastCheckInDate: last?.date,
                lastCheckInTime: last?.at,
                checkedInToday: isDone,
                streakSafe: isDone || isPaused || streak.isSafe(at: state.openDate ?? streak.today, streaks.policy),
                nextMilestone: next(of: state),
                freezeInfo: FreezeInfo(
                    lastFreezeUsedDate: facts.lastFreeze,
                    freezesUsedThisWeek: facts.freezes(since: week.lowerBound),
                    nextFreezeEarnedAt: Int32(every - state.count % every)
                ),
                paused: isPaused,
                pauseEndDate: isPaused ? state.pause?.until : nil,
                repair: try await repairs.offer(to: user, streak, isPremium: isPremium),
                asksYesterdayFeeling: state.count == 0,
                today: facts.entry(streak.today)
            ),
            meta: CheckInStatusMeta(serverTime: now, userTimezone: streak.zone.name)
        )
    }

    /// Before the first check-in: the freezes are those that it will bring.
    private func fresh(_ user: UserID, _ isPremium: Bool, _ context: CallContext) async throws -> GetCheckInStatusReply {
        let zone = try await streaks.profiles.profile(user, context: context)?.zone ?? .utc
        return GetCheckInStatusReply(
            data: CheckInStatus(
                freezesAvailable: Int32(FreezePrices.atStart(isPremium: isPremium)),
                streakSafe: true,
                nextMilestone: Self.next(CelebratedCheckIn.all.first, count: 0),
                freezeInfo: FreezeInfo(nextFreezeEarnedAt: Int32(FreezePrices.earnedEvery(isPremium: isPremium))),
                asksYesterdayFeeling: true
            ),
            meta: CheckInStatusMeta(serverTime: clock.now(), userTimezone: zone.name)
        )
    }

    /// The next that will bring something: each rewards once for ever (CI-5).
    private func next(of state: StreakState) -> NextMilestone? {
        Self.next(streaks.policy.nextMilestone(of: state).flatMap(CelebratedCheckIn.of), count: state.count)
    }

    private static func next(_ milestone: CelebratedCheckIn?, count: Int) -> NextMilestone? {
        milestone.map {
            NextMilestone(
                daysUntil: Int32($0.days - count),
                milestoneType: $0.type,
                title: $0.title,
                previewReward: $0.preview
            )
        }
    }
}
