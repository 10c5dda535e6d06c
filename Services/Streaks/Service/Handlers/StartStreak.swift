internal import Bus
internal import Kernel
internal import Outbox
internal import SocialAPI
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// MS-1.
    func startStreak(_ request: StartStreakRequest, context: CallContext) async throws -> StartStreakReply {
        let user = try context.requireUser()
        let friend = try UserID(parsing: request.friendID, field: "friend_id")
        guard friend != user else { throw ServiceError.validation(field: "friend_id", "must be somebody else") }
        // Asked before the transaction and judged in it: a repeat gets the first answer, whatever has become of the friendship.
        let friendship = await friendship(of: user, with: friend, context)
        return try await mutations.run(
            context,
            request,
            completedBy: { begun in
                let id = try StreakID(parsing: begun.streak?.id ?? "", field: "streak_id")
                let view = try await views(.one(id), of: user, withFriends: true, context).first
                return StartStreakReply(streak: view.map(Self.item) ?? begun.streak)
            },
            { work in
                let id = try await startAnew(try friendship.get(), user, with: friend, work)
                return StartStreakReply(streak: StreakItem(id: id.description))
            }
        )
    }

    /// What social says. Their zones must be known too before the first deadline is worked out.
    private func friendship(of user: UserID, with friend: UserID, _ context: CallContext) async -> Result<FriendshipID, any Error>
    {
        do {
            let request = FindFriendshipRequest(userID: user.description, friendID: friend.description)
            let found = try await social.findFriendship(request, context: context)
            _ = try await profiles.profiles([user, friend], context: context)
            return .success(try FriendshipID(parsing: found.friendshipID, field: "friendship_id"))
        } catch let error as ServiceError where error.code == .notFound {
            return .failure(ServiceError.notFriends)
        } catch {
            return .failure(error)
        }
    }

    private func startAnew(_ friendship: FriendshipID, _ user: UserID, with friend: UserID, _ work: UnitOfWork) async throws
        -> StreakID
    {
        try await StartRepository.lock([user, friend], work.sql)
        guard try await !StartRepository.isOver(friendship, of: user, friend, work.sql) else { throw ServiceError.notFriends }
        for stored in try await prepareStart(friendship, user, friend, work).ofFriendship { try await makeRoom(stored, work) }
        if try await isAtLimit(user, work) { throw ServiceError.streakLimit(of: "", "You have") }
        if try await isAtLimit(friend, work) { throw ServiceError.streakLimit(of: "friend_id", "Your friend has") }
        return try await insertStreak(friendship, user, friend, work)
    }

    /// A broken streak of the two ends: two that run could otherwise come of a late snap, a token or an outage.
    private func makeRoom(_ stored: StoredStreak, _ work: UnitOfWork) async throws {
        let state = fold(stored.ledger, StreakKeeper.policy, at: max(work.now, stored.row.lookedAt))
        guard state.status != .active else {
            throw ServiceError(.alreadyExists, "STREAK_ALREADY_ACTIVE", "You have an active streak with this friend.")
        }
        guard try await recoveries.repository.underWay(stored.row.id, work.sql) == nil else {
            throw ServiceError.recoveryInProgress
        }
        _ = try await keeper.apply(.end, to: stored, work)
    }
}

extension ServiceError {
    /// To whoever asks for a stranger, for somebody who has blocked them, or for nobody: they cannot tell which (PF-2).
    static let notFriends = ServiceError(.notFound, "NOT_FRIENDS", "There is no such friend.")

    /// MS-1. `field` is empty when it is the caller who has too many.
    static func streakLimit(of field: String, _ whose: String) -> ServiceError {
        let message = "\(whose) 3 active streaks; more need premium."
        return ServiceError(
            .failedPrecondition,
            "STREAK_LIMIT_REACHED",
            message,
            details: [Detail(field: field, message: message)]
        )
    }
}
