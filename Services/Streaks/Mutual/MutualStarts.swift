internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// How mutual streaks start (MS-1, SO-2), within a transaction.
struct MutualStarts: Sendable {
    let writer: StreakWriter
    let recoveries: RecoveryOperationRepository
    let profiles: ProfileReplica
    let entitlements: EntitlementReplica
    private var store: StreakStore { writer.store }

    init(
        writer: StreakWriter,
        recoveries: RecoveryOperationRepository,
        profiles: ProfileReplica,
        entitlements: EntitlementReplica = EntitlementReplica()
    ) {
        (self.writer, self.recoveries, self.profiles, self.entitlements) = (writer, recoveries, profiles, entitlements)
    }

    /// The streak of a friendship that has just begun; a repeated request gets the first answer.
    func start(for friendship: FriendshipID, _ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws
        -> StartForFriendshipReply
    {
        try await StartRepository.lock([one, two], work.sql)
        if let answer = try await StartRepository.answer(to: friendship, work.sql) { return answer }
        guard try await !isOver(friendship, one, two, work) else {
            return StartForFriendshipReply(reason: ServiceError.notFriends.reason)
        }
        _ = try await prepare(friendship, one, two, work)
        for user in [one, two] where try await activeAtLimit(user, work) != nil {
            try await StartRepository.refuse(friendship, "STREAK_LIMIT_REACHED", now: work.now, work.sql)
            return StartForFriendshipReply(reason: "STREAK_LIMIT_REACHED")
        }
        return StartForFriendshipReply(streakID: try await insert(friendship, one, two, work))
    }

    /// A new streak of friends that one of them asks for.
    ///
    /// - Throws: `NOT_FRIENDS`, `STREAK_ALREADY_ACTIVE`, `RECOVERY_IN_PROGRESS`, `STREAK_LIMIT_REACHED`.
    func startAnew(_ friendship: FriendshipID, _ user: UserID, with friend: UserID, _ work: UnitOfWork) async throws -> StreakID {
        try await StartRepository.lock([user, friend], work.sql)
        guard try await !isOver(friendship, user, friend, work) else { throw ServiceError.notFriends }
        for stored in try await prepare(friendship, user, friend, work) { try await makeRoom(stored, work) }
        if let active = try await activeAtLimit(user, work) { throw ServiceError.streakLimit(of: "", "You have", active: active) }
        if let active = try await activeAtLimit(friend, work) {
            throw ServiceError.streakLimit(of: "friend_id", "Your friend has", active: active)
        }
        return try await insert(friendship, user, friend, work)
    }

    /// A broken streak of the two ends: two that run could otherwise come of a late snap, a token or an outage.
    private func makeRoom(_ stored: StoredStreak, _ work: UnitOfWork) async throws {
        let state = fold(stored.ledger, .mutual, at: max(work.now, stored.row.settledAt))
        guard state.status != .active else {
            throw ServiceError(.alreadyExists, "STREAK_ALREADY_ACTIVE", "You have an active streak with this friend.")
        }
        guard try await recoveries.underWay(stored.row.id, work.sql) == nil else { throw ServiceError.recoveryInProgress }
        try await writer.apply(.end, to: stored, work)
    }

    /// Ends what an earlier friendship of the two left, and settles what is due of either, so that the limit counts what runs. Starts of
    /// the two are locked.
    ///
    /// The end of a friendship arrives as an event: when the two are friends again within its delay, the new streak starts first. Then the
    /// old one ends here, and the event finds nothing to do.
    ///
    /// - Returns: streaks of the same friendship that have not ended.
    private func prepare(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws
        -> [StoredStreak]
    {
        let due =
            try await store.activeIDs(of: one, kinds: [.mutual], dueBy: work.now, work.sql)
            + (try await store.activeIDs(of: two, kinds: [.mutual], dueBy: work.now, work.sql))
        let own = try await store.streak(.mutual, key: Self.key(one, two), work.sql)
        let friendships = try await StartRepository.friendships(of: own.map { [$0] } ?? [], work.sql)
        var ofFriendship: [StoredStreak] = []
        for stored in try await store.lock(due + (own.map { [$0] } ?? []), work.sql) {
            if stored.row.id != own {
                try await writer.settle([stored], urgency: .soon, work)
            } else if friendships[stored.row.id] == friendship {
                ofFriendship.append(stored)
            } else {
                try await writer.apply(.end, to: stored, work)
            }
        }
        return ofFriendship
    }

    /// Whether a friendship of these two is known to be over: its end was consumed, or a later one of theirs has had a streak. Of two
    /// friendships of a pair the later one has the greater id; `social` sees to that.
    private func isOver(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws -> Bool {
        if try await StartRepository.hasEnded(friendship, work.sql) { return true }
        let all = try await store.streaks(.mutual, of: [one, two], work.sql)
        return try await StartRepository.friendships(of: all, work.sql).values.contains { $0 > friendship }
    }

    /// A new streak with count 0 from now on. Starts of the two are locked.
    private func insert(_ friendship: FriendshipID, _ one: UserID, _ two: UserID, _ work: UnitOfWork) async throws -> StreakID {
        for profile in try await profiles.known([one, two], work.sql).values {
            _ = try await ZoneRepository.add(profile.zone, of: profile.userID, since: profile.zoneSince, work.sql)
        }
        return try await writer.start(.init(.mutual, of: [one, two], key: Self.key(one, two)), work) { id in
            try await StartRepository.insert(friendship, of: id, work.sql)
        }
    }

    /// At most one streak of a pair that has not ended (MS-1).
    static func key(_ one: UserID, _ two: UserID) -> String { "\(min(one, two)) \(max(one, two))" }

    /// How many streaks run when that is as many as the plan allows: three on the free plan, any number on premium (MS-1). Nil: one more may start.
    private func activeAtLimit(_ user: UserID, _ work: UnitOfWork) async throws -> Int? {
        let active = try await store.activeIDs(of: user, kinds: [.mutual], work.sql).count
        guard active >= Self.freeLimit else { return nil }
        return try await entitlements.isPremium(user, now: work.now, work.sql) ? nil : active
    }

    /// Running streaks of a user on the free plan (MS-1).
    static let freeLimit = 3
}

extension ServiceError {
    /// To a caller who names a stranger, a user who has blocked them, or no user at all: the answer does not say which (PF-2).
    static let notFriends = ServiceError(.notFound, "NOT_FRIENDS", "There is no such friend.")

    /// MS-1. `field` is empty when it is the caller who has too many: then the details `limit` and `active` are numbers, for the app's paywall.
    /// How many a friend has is not said.
    static func streakLimit(of field: String, _ whose: String, active: Int) -> ServiceError {
        let limit = MutualStarts.freeLimit
        let message = "\(whose) \(limit) active streaks; more need premium."
        let details =
            field.isEmpty
            ? [Detail(field: "limit", message: "\(limit)"), Detail(field: "active", message: "\(active)")]
            : [Detail(field: field, message: message)]
        return ServiceError(.failedPrecondition, "STREAK_LIMIT_REACHED", message, details: details)
    }
}
