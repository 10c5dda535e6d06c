internal import BlobStore
internal import Bus
internal import Kernel
internal import Logging
internal import MediaAPI
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// Daily snaps, the feed and the history made from them, avatars, and milestone cards. The table of contents: one handler file per
/// RPC in `Handlers/`, what is due in `Jobs/`.
///
/// uploadSnap · getFeed · getStreakSnaps · getSnapHistory · uploadAvatar · removeAvatar · generateMilestoneCard · markMilestoneShared ·
/// revokeMilestoneShare · makeMilestoneCard · getSharePage · findSnapOwner
struct MediaService: MediaServiceProtocol {
    let snaps: SnapRepository
    let blocks: BlockReplica
    let operations: SnapOperations
    let avatars: Avatars
    let cards: MilestoneCards
    let blobs: any BlobStore
    let profiles: ProfileReplica
    let streaks: MutualClient
    let social: SocialClient
    let links: MediaLinks
    let mutations: Mutations
    let clock: any Clock
    let ids: any IDSource
    let logger: Logger
}
