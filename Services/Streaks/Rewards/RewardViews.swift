internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a user sees of their unlocks.
struct RewardViews: Sendable {
    let database: Database
    let clock: any Clock

    func unlocks(of user: UserID) async throws -> GetUnlocksReply { try await Self.unlocks(of: user, at: clock.now(), database) }

    static func unlocks(of user: UserID, at now: Instant, _ sql: some QueryExecutor) async throws -> GetUnlocksReply {
        let opened = try await RewardRepository.unlocks(of: user, sql)
        let isPremium = try await EntitlementReplica().isPremium(user, now: now, sql)
        let shown = try await RewardRepository.shown(of: [user], now: now, sql)[user] ?? PublicRewards()
        return GetUnlocksReply(
            unlocks: Unlock.allCases.map { unlock in
                let mine = opened[unlock]
                return UnlockItem(
                    id: unlock.rawValue,
                    title: unlock.title,
                    daysRequired: Int32(unlock.count),
                    effect: unlock.effect.rawValue,
                    earned: mine != nil,
                    earnedAt: mine?.at,
                    switchable: unlock.isSwitchable && (mine != nil || (isPremium && unlock.effect == .flame)),
                    active: unlock.effect == .flame ? shown.flame.unlock == unlock : mine.map { !$0.isOff } ?? false
                )
            },
            shown: ShownRewards(
                badge: shown.badge?.rawValue,
                titles: shown.titles.map(\.rawValue),
                goldFrame: shown.hasGoldFrame,
                crown: shown.hasCrown,
                flame: shown.flame.rawValue
            ),
            medal: try await MedalRepository.find(of: user, sql).map(Medal.init)
        )
    }
}

extension Medal {
    init(_ medal: StoredMedal) {
        self.init(
            medalID: medal.id,
            status: medal.status,
            address: medal.address,
            requestedAt: medal.requestedAt,
            decidedAt: medal.decidedAt,
            trackingCode: medal.trackingCode,
            note: medal.note
        )
    }
}

extension AdminMedal {
    init(_ medal: StoredMedal, _ profile: Profile?) {
        self.init(
            medal: Medal(medal),
            userID: medal.user,
            username: profile.flatMap { $0.isVisible ? $0.username : nil },
            decidedBy: medal.decidedBy
        )
    }
}

extension ServiceError {
    static let unlockNotEarned = ServiceError(
        .failedPrecondition,
        "UNLOCK_NOT_EARNED",
        "This opens with a longer streak."
    )
    static let medalAlreadySent = ServiceError(.failedPrecondition, "MEDAL_ALREADY_SENT", "This medal is on its way already.")
}
