internal import Bus
internal import Kernel
internal import MediaAPI
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// The social graph. The table of contents: one handler file per RPC, in `Handlers/`.
///
/// sendFriendRequest · respondToFriendRequest · listFriends · listFriendRequests · removeFriend · searchUsers · nudge
/// · blockUser · listBlocks · unblockUser · report · listReports · actionReport · listBlockSnapshots · findFriendship
struct SocialService: SocialServiceProtocol {
    let friendships: FriendshipRepository
    let friendLists: FriendLists
    let people: SearchRepository
    let blocks: BlockRepository
    let reports: ReportRepository
    let profiles: ProfileReplica
    let streaks: MutualClient
    let media: MediaClient
    let mutations: Mutations
}
