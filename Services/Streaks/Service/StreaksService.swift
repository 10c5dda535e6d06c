internal import Bus
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
internal import Runtime
internal import SocialAPI
internal import StreaksAPI

/// Streaks, their day ledgers and the daily prompt. The table of contents: one handler file per RPC in `Handlers/`, what is heard in
/// `Consumers/`, what is due in `Jobs/`.
///
/// listStreaks · listSampleStreaks · getStreak · startStreak · recover · getCalendar · getMilestoneData · getAchievements · getStats · getYearCalendar ·
/// getTodaysPrompt · getStreakPrompts · setStreakPrompts · clearStreakPrompts · startForFriendship · getFriendSummaries ·
/// planContribution · recordContribution · listOpenDates · getMilestoneFacts · getMembership · exportUserData
struct StreaksService: StreaksServiceProtocol {
    let streaks: StreakRepository
    let keeper: StreakKeeper
    let recoveries: Recoveries
    let social: SocialClient
    let profiles: ProfileReplica
    let blocks: BlockReplica
    let entitlements: EntitlementReplica
    let media: MediaClient
    let work: UnitOfWorkFactory
    let mutations: Mutations
    let snapWindow: SnapWindowRule
    let clock: any Clock
}
