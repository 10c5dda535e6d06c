internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksAPI

/// Streaks, their day ledgers and the daily prompt. The table of contents: one handler file per RPC in `Handlers/`, what is heard in
/// `Consumers/`, what is due in `Jobs/`.
///
/// listStreaks · getStreak · getTodaysPrompt · startForFriendship · getFriendSummaries · planContribution · recordContribution ·
/// listOpenDates · getMilestoneFacts · exportUserData
struct StreaksService: StreaksServiceProtocol {
    let streaks: StreakRepository
    let keeper: StreakKeeper
    let profiles: ProfileReplica
    let entitlements: EntitlementReplica
    let work: UnitOfWorkFactory
    let clock: any Clock
}
