internal import Kernel
package import Outbox
package import StreaksCore
internal import StreaksDomain

/// What changes of streaks earn their members: badges and unlocks, in the transaction that causes them, each once (CI-5). Costs nothing
/// unless a check-in count reached something, a freeze was spent or came back, or a week or month may be perfect.
package struct RewardsFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        var badges: [RewardGrants.Earned<Badge>] = []
        var unlocks: [RewardGrants.Earned<Unlock>] = []
        let checkIns = changes.filter { $0.row.kind == .checkIn && !$0.row.members.isEmpty }
        for change in checkIns {
            let user = change.row.members[0]
            let (before, after) = (change.change.before.longest, change.change.state.longest)
            badges += Badge.earned(from: before, to: after).map { .init(user, $0) }
            unlocks += Unlock.earned(from: before, to: after).map { .init(user, $0) }
        }
        badges += repaired(changes)
        try await noteFreezes(checkIns, work)
        badges += try await bought(checkIns, work)
        badges += try await consistent(checkIns, work)
        badges += try await frozenTen(checkIns, work)
        badges += try await perfectMonths(checkIns, work)
        badges += try await friends(changes, work)
        let granted = try await RewardGrants.grant(badges: badges, unlocks: unlocks, work)
        let insured = granted.unlocks.filter { $0.reward == .insurance }.map(\.user)
        try await YearlyRepairRepository.begin(insured, at: work.now, work.sql)
    }
}

extension RewardsFollower {
    /// Keeps which dates of whom a freeze holds.
    private func noteFreezes(_ changes: [PlannedChange], _ work: UnitOfWork) async throws {
        var spent: [FrozenDate] = []
        var returned: [FrozenDate] = []
        for change in changes {
            let user = change.row.members[0]
            for effect in change.change.lastingEffects {
                switch effect {
                case .freezeSpent(let date, _, _, _): spent.append(FrozenDate(user: user, date: date))
                case .freezeReturned(let date): returned.append(FrozenDate(user: user, date: date))
                default: break
                }
            }
        }
        try await FrozenDateRepository.delete(returned, work.sql)
        try await FrozenDateRepository.insert(spent, work.sql)
    }

    /// Second Chance: a repaired check-in streak, or a restored typed one.
    private func repaired(_ changes: [PlannedChange]) -> [RewardGrants.Earned<Badge>] {
        changes.flatMap { change in
            change.change.effects.compactMap { effect in
                guard change.row.kind.isSolo, case .repaired(_, _, let user, _, _) = effect else { return nil }
                return (user ?? change.row.members.first).map { .init($0, .secondChance) }
            }
        }
    }

    /// Investor: notes freezes that were bought now, for money, coins or XP, and says who has bought 25.
    private func bought(_ changes: [PlannedChange], _ work: UnitOfWork) async throws -> [RewardGrants.Earned<Badge>] {
        let purchases = changes.flatMap { change in
            change.grants.filter { $0.count > 0 }.compactMap { grant in
                grant.id.map {
                    FreezePurchase(id: $0, user: change.row.members[0], count: Int32(clamping: grant.count), at: grant.at)
                }
            }
        }
        guard !purchases.isEmpty else { return [] }
        return try await FreezePurchaseRepository.add(purchases, work.sql)
            .filter { $0.value >= Badge.investor.target }.map { .init($0.key, .investor) }
    }

    /// Ice Warrior: ten freezes spent and not given back.
    private func frozenTen(_ changes: [PlannedChange], _ work: UnitOfWork) async throws -> [RewardGrants.Earned<Badge>] {
        let users = changes.filter { change in
            change.change.lastingEffects.contains { if case .freezeSpent = $0 { true } else { false } }
        }
        .map { $0.row.members[0] }
        guard !users.isEmpty else { return [] }
        return try await FrozenDateRepository.counts(of: users, work.sql)
            .filter { $0.value >= Badge.iceWarrior.target }.map { .init($0.key, .iceWarrior) }
    }

    /// Consistency: a count of 100 in a run that no freeze has helped.
    private func consistent(_ changes: [PlannedChange], _ work: UnitOfWork) async throws -> [RewardGrants.Earned<Badge>] {
        let target = Badge.consistency.target
        let runs = changes.compactMap { change -> FrozenDate? in
            let (before, after) = (change.change.before, change.change.state)
            let isNews =
                before.count < target || before.runStart != after.runStart
                || change.change.effects.contains { if case .freezeReturned = $0 { true } else { false } }
            guard after.count >= target, isNews, let start = after.runStart else { return nil }
            return FrozenDate(user: change.row.members[0], date: start)
        }
        guard !runs.isEmpty else { return [] }
        let frozen = try await FrozenDateRepository.anyFrozen(since: runs, work.sql)
        return runs.filter { !frozen.contains($0.user) }.map { .init($0.user, .consistency) }
    }

    /// Perfect Month: a check-in on every date of a calendar month; what excuses a date for the XP of the month does so here.
    private func perfectMonths(_ changes: [PlannedChange], _ work: UnitOfWork) async throws
        -> [RewardGrants.Earned<Badge>]
    {
        var earned: [RewardGrants.Earned<Badge>] = []
        for change in changes {
            guard let date = change.contribution?.date else { continue }
            let periods = try await PerfectDates.completed(by: date, in: change, work)
            if periods.contains(where: { $0.kind == .month }) { earned.append(.init(change.row.members[0], .perfectMonth)) }
        }
        return earned
    }

    /// Social Butterfly: streaks with five friends that reached 30 once.
    private func friends(_ changes: [PlannedChange], _ work: UnitOfWork) async throws -> [RewardGrants.Earned<Badge>] {
        let needed = Badge.friendStreakNeeded
        let users = changes.filter { change in
            change.row.kind == .mutual
                && change.change.effects.contains {
                    if case .milestone(let count, _, _, _) = $0 { count >= needed } else { false }
                }
        }.flatMap(\.row.members)
        guard !users.isEmpty else { return [] }
        return try await FriendReads.longFriendStreaks(of: users, reaching: needed, work.sql)
            .filter { $0.value >= Badge.friendsNeeded }.map { .init($0.key, .socialButterfly) }
    }
}
