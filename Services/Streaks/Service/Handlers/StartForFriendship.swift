internal import Bus
internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// SO-2, MS-1. Asked by `social` right after an acceptance and again by its event: the friendship's answer stays the same.
    func startForFriendship(_ request: StartForFriendshipRequest, context: CallContext) async throws -> StartForFriendshipReply {
        let friendship = try FriendshipID(parsing: request.friendshipID, field: "friendship_id")
        let one = try UserID(parsing: request.userAID, field: "user_a_id")
        let two = try UserID(parsing: request.userBID, field: "user_b_id")
        // Their zones must be known before the first deadline is worked out.
        _ = try await profiles.profiles([one, two], context: context)
        return try await work.run(context) { work in try await start(friendship, one, two, work) }
    }

    func start(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws
        -> StartForFriendshipReply
    {
        try await StartRepository.lock([one, two], work.sql)
        if let answer = try await StartRepository.answer(to: friendship, of: one, work.sql) { return answer }
        guard try await !StartRepository.isOver(friendship, of: one, two, work.sql) else {
            return StartForFriendshipReply(reason: ServiceError.notFriends.reason)
        }
        let met = try await prepareStart(friendship, one, two, work)
        for user in [one, two] where try await isAtLimit(user, work) {
            try await StartRepository.refuse(friendship, "STREAK_LIMIT_REACHED", now: work.now, work.sql)
            if met.hasEnded { try await keeper.refreshStats([one, two], work) }
            return StartForFriendshipReply(reason: "STREAK_LIMIT_REACHED")
        }
        return StartForFriendshipReply(streakID: try await insertStreak(friendship, one, two, work).description)
    }

    /// What was found when a streak of two people was about to start.
    struct StartFinding {
        /// Streaks of the same friendship that have not ended.
        var ofFriendship: [StoredStreak] = []
        /// A streak of an earlier friendship of the two was ended; their totals are to be told.
        var hasEnded = false
    }

    /// Ends what an earlier friendship of the two left, and settles what is due of either, so that the limit counts what runs. Starts of
    /// the two are locked.
    ///
    /// The end of a friendship arrives as an event: when the two are friends again within its delay, the new streak starts first. Then the
    /// old one ends here, and the event finds nothing to do.
    func prepareStart(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws -> StartFinding {
        let concerned = try await StartRepository.concerned(one, two, now: work.now, work.sql)
        let friendships = Dictionary(concerned.compactMap { streak in streak.friendship.map { (streak.id, $0) } }) { known, _ in
            known
        }
        var finding = StartFinding()
        for stored in try await streaks.lock(concerned.map(\.id), work.sql) {
            if !stored.row.isOf(one, two) {
                try await keeper.settle([stored], totals: .soon, work)
            } else if friendships[stored.row.id] == friendship {
                finding.ofFriendship.append(stored)
            } else {
                _ = try await keeper.apply(.end, to: stored, work)
                finding.hasEnded = true
            }
        }
        return finding
    }

    /// A new streak with count 0 from now on. Starts of the two are locked.
    func insertStreak(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws -> StreakID {
        for profile in try await profiles.known([one, two], work.sql).values {
            _ = try await ZoneRepository.add(profile.zone, of: profile.userID, since: profile.zoneSince, work.sql)
        }
        let zones = try await ZoneRepository.histories(of: [one, two], work.sql)
        let ledger = StreakLedger(
            start: work.now,
            participants: [min(one, two), max(one, two)].map {
                StreakLedger.Participant($0, zones: zones[$0] ?? ZoneHistory(.utc))
            }
        )
        let id: StreakID = work.ids.make()
        try await streaks.insert(
            id,
            friendship: friendship,
            one,
            two,
            state: fold(ledger, StreakKeeper.policy, at: work.now),
            work.sql
        )
        try await work.emit(
            StreakStarted(
                streakID: id.description,
                userAID: min(one, two).description,
                userBID: max(one, two).description,
                startedAt: work.now
            )
        )
        try await keeper.refreshStats([one, two], work)
        return id
    }

    /// MS-1: three running streaks on the free plan, any number on premium.
    func isAtLimit(_ user: UserID, _ work: UnitOfWork) async throws -> Bool {
        guard try await streaks.activeIDs(of: user, work.sql).count >= 3 else { return false }
        return try await !entitlements.isPremium(user, now: work.now, work.sql)
    }
}
