internal import Bus
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Typed streaks as their user sees them. Reading changes nothing: what is due is folded, and stored by the settlement job.
struct TypedViews: Sendable {
    let store: StreakStore
    let profiles: ProfileReplica
    let clock: any Clock

    /// A streak with its fold; nil parts before the first activity.
    struct Folded: Sendable {
        let type: TypedType
        let id: StreakID?
        let ledger: StreakLedger?
        let contributions: Int32
        let state: StreakState?
        let zones: ZoneHistory
        let now: Instant
        var today: CalendarDate { zones.date(at: now) }
    }

    /// The caller's streaks of these kinds, in the order of TS-1.
    ///
    /// - Parameter isWhole: with every date they ever had.
    func folded(_ kinds: [StreakKind], of user: UserID, isWhole: Bool, _ context: CallContext) async throws -> [Folded] {
        // The zone must be known before the first date is worked out.
        _ = try await profiles.profiles([user], context: context)
        let ids = try await store.unendedIDs(of: user, kinds: kinds, store.database)
        let stored = try await store.load(ids, isWhole: isWhole)
        let zones = try await ZoneRepository.histories(of: [user], store.database)[user] ?? ZoneHistory(.utc)
        let now = clock.now()
        return TypedType.all.filter { kinds.contains($0.kind) }.map { type in
            let streak = stored.first { $0.row.kind == type.kind }
            let at = max(now, streak?.row.settledAt ?? now)
            let state = streak.map { fold($0.ledger, store.policies.policy(for: type.kind), at: at) }
            return Folded(
                type: type,
                id: streak?.row.id,
                ledger: streak?.ledger,
                contributions: streak?.row.contributionCount ?? 0,
                state: state,
                zones: zones,
                now: at
            )
        }
    }

    /// One of them by the name of its type.
    func folded(_ typeName: String, of user: UserID, isWhole: Bool, _ context: CallContext) async throws -> Folded {
        guard let kind = StreakKind(typeName: typeName),
            let found = try await folded([kind], of: user, isWhole: isWhole, context).first
        else { throw ServiceError.validation(field: "type", "is no typed streak") }
        return found
    }

    /// Whether the user is on a premium plan, and has a double day today.
    func boosts(of user: UserID, on date: CalendarDate) async throws -> TypedStreak.Boosts {
        TypedStreak.Boosts(
            isPremium: try await EntitlementReplica().isPremium(user, now: clock.now(), store.database),
            isDoubled: try await DoubleDays.isDoubled(user, on: date, store.database)
        )
    }

    /// - Throws: `VALIDATION_ERROR` naming `from`; nothing where the user's date is to stand for one of the two.
    static func checkRange(from first: CalendarDate?, to last: CalendarDate?) throws(ServiceError) {
        guard let first, let last else { return }
        guard first <= last else { throw .validation(field: "from", "must not be after to") }
        guard first.distance(to: last) < 366 else { throw .validation(field: "from", "must be less than 366 dates before to") }
    }

    /// What became of each date of a range, oldest first.
    static func days(_ folded: Folded, from: CalendarDate?, to: CalendarDate?) throws(ServiceError) -> [TypedDay] {
        let last = to ?? folded.today
        let first = from ?? last.advanced(by: -89)
        try checkRange(from: first, to: last)
        return (0...first.distance(to: last)).map { offset in
            let date = first.advanced(by: offset)
            return TypedDay(date: date, mark: TypedMark(folded.state?.mark(on: date) ?? .none))
        }
    }
}

extension TypedMark {
    init(_ mark: StreakState.Mark) {
        switch mark {
        case .complete: self = .complete
        case .open: self = .open
        case .none: self = .none
        case .neutral: self = .neutral
        case .covered, .filled: self = .covered
        case .frozen: self = .frozen
        case .missed: self = .missed
        }
    }
}

extension TypedStreak {
    /// What multiplies a user's coins beside the streak.
    struct Boosts: Sendable {
        let isPremium: Bool
        let isDoubled: Bool
    }

    init(_ folded: TypedViews.Folded, _ boosts: Boosts) {
        self.init()
        let (state, ledger) = (folded.state, folded.ledger)
        let count = state?.count ?? 0
        id = folded.id
        type = folded.type.kind.typeName
        displayName = folded.type.displayName
        icon = folded.type.icon
        fireEmoji = TypedType.flames(count)
        currentStreak = Int32(count)
        longestStreak = Int32(state?.longest ?? 0)
        streakStartDate = count > 0 ? state?.runStart : nil
        lastActivityDate = state?.lastCompletedDate
        isActive = lastActivityDate.map { $0 >= folded.today.advanced(by: -1) } ?? false
        totalDaysActive = folded.contributions
        multiplier = CoinMultiplier(count: count, isPremium: boosts.isPremium, isDoubled: boosts.isDoubled).value
        if count > 0, let deadline = state?.deadlineAt {
            deadlineAt = deadline
            hoursUntilBreak = Int32(clamping: max(0, (deadline - folded.now).microseconds) / 3_600_000_000)
            daysUntilBreak = hoursUntilBreak
        }
        atRisk = state?.isAtRisk ?? false
        doneToday = ledger?.contributions[folded.today]?.isEmpty == false
        frozenUntil = ledger?.recoveries.filter { $0.returnedAt == nil && $0.through >= folded.today }.map(\.through).max()
        let insurance = state?.protections.first { $0.kind == .insurance }
        insuredUntil = insurance?.until
        insuranceActive = insurance != nil || (boosts.isPremium && Self.hasPremiumInsurance(folded))
        freeDatesLeft = Int32(state?.freeDatesLeft ?? (boosts.isPremium ? 4 : 1))
        let next = state.map { StreakPolicy.typed.nextMilestone(of: $0) } ?? TypedReward.all.first?.days
        nextMilestone = next.flatMap(TypedReward.init(days:)).map { TypedMilestone($0, count: count) }
    }

    /// Premium's own insurance has not been spent in the last 7 dates (TS-3).
    private static func hasPremiumInsurance(_ folded: TypedViews.Folded) -> Bool {
        let spent = (folded.state?.log ?? []).compactMap { effect -> CalendarDate? in
            if case .protectionSpent(let date, .insurance, nil) = effect { return date }
            return nil
        }
        guard let last = (spent + [folded.ledger?.base.lastPremiumInsurance].compactMap { $0 }).max() else { return true }
        return last.distance(to: folded.today) >= 7
    }
}

extension TypedMilestone {
    init(_ reward: TypedReward, count: Int) {
        self.init(
            days: Int32(reward.days),
            title: reward.title,
            badge: reward.badge,
            coins: Int32(reward.coins),
            xp: Int32(reward.xp),
            daysLeft: Int32(max(0, reward.days - count))
        )
    }
}

extension ServiceError {
    static let premiumRequired = ServiceError(
        .permissionDenied,
        "PREMIUM_REQUIRED",
        "Exporting the history is part of the premium plan."
    )
}
