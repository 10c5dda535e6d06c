internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import Replicas
internal import StreaksAPI

/// What a user may know of another. One who cannot be seen is answered like one who does not exist (PF-2): also one who blocks the caller, or
/// is blocked by them (SO-7). Without its counts when `streaks` does not answer at once.
struct GetProfile: QueryHandler {
    let accounts: AccountRepository
    let blocks: BlockReplica
    let checkIns: CheckInsClient
    private static let timeout = Interval.seconds(1)

    func handle(_ request: GetProfileRequest, _ context: CallContext) async throws -> PublicProfile {
        let user = try context.requireUser()
        let id = request.userID
        guard let account = try await accounts.find(id), account.status == .active,
            try await blocks.hidden(from: user, among: [id]).isEmpty
        else { throw ServiceError.notFound("user") }
        let asking = context.child(timeout: Self.timeout)
        let streak = try? await checkIns.getPublicStreak(GetPublicStreakRequest(userID: id), context: asking)
        return PublicProfile(
            userID: id,
            username: account.username,
            displayName: account.displayName,
            avatarURL: accounts.avatarURL(of: account),
            createdAt: account.createdAt,
            rewards: try await accounts.rewards(of: id),
            currentStreak: streak?.currentStreak,
            longestStreak: streak?.longestStreak
        )
    }
}
