internal import Bus
internal import Kernel
internal import Replicas
internal import Runtime
internal import SocialAPI
internal import StreaksAPI

/// Friend requests and friendships. The table of contents: one handler file per RPC, in `Handlers/`.
///
/// sendFriendRequest · respondToFriendRequest · listFriends · listFriendRequests · exportUserData
struct SocialService: SocialServiceProtocol {
    let friendships: FriendshipRepository
    let profiles: ProfileReplica
    let streaks: StreaksClient
    let mutations: Mutations
}
