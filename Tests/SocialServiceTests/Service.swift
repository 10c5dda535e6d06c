import AuthAPI
import Bus
import Database
import Kernel
import MediaAPI
import Replicas
import ServiceRuntime
import SocialAPI
import SocialCore
import StreaksAPI

@testable import Outbox
@testable import SocialFriends
@testable import SocialSafety
@testable import SocialService

/// The handlers of one replica of `social`.
struct Service: Sendable {
    let core: SocialCore
    let requests: RequestRepository
    let mutations: Mutations
    /// What its users may store.
    var quotas = Quotas()
    private let lists: FriendLists
    private let users: SearchRepository
    private let reports: ReportRepository
    private let streaks: FriendStreaks
    private let accounts: ProfilesClient
    private let snaps: SnapsClient
    private let places: PlacesClient
    private let work: UnitOfWorkFactory
    var posts: PostReports { PostReports(reports: reports) }

    init(database: Database, bus: any Caller, mutations: Mutations, keptFriendPages: Int = 1_000) {
        core = SocialCore(database: database, bus: bus, avatars: AvatarLinks(), SocialModule.followers)
        requests = RequestRepository(database: database)
        lists = FriendLists(database: database, avatars: core.avatars, capacity: keptFriendPages)
        users = SearchRepository(database: database, avatars: core.avatars)
        reports = ReportRepository(database: database)
        streaks = FriendStreaks(MutualClient(bus))
        accounts = ProfilesClient(bus)
        snaps = SnapsClient(bus)
        places = PlacesClient(bus)
        self.mutations = mutations
        let ids = UUIDv7Source(clock: SystemClock())
        work = UnitOfWorkFactory(database: database, clock: SystemClock(), ids: ids, relay: nil)
    }

    var friendships: FriendshipRepository { core.friendships }

    func sendFriendRequest(_ request: SendFriendRequestRequest, context: CallContext) async throws -> FriendshipReply {
        try await SendFriendRequest(
            friendships: core.friendships,
            requests: requests,
            blocks: core.blocks,
            profiles: core.profiles,
            streaks: streaks,
            mutations: mutations
        ).handle(request, context).reply
    }

    func respondToFriendRequest(_ request: RespondToFriendRequestRequest, context: CallContext) async throws -> FriendshipReply {
        try await RespondToFriendRequest(
            friendships: core.friendships,
            profiles: core.profiles,
            streaks: streaks,
            mutations: mutations
        ).handle(request, context).reply
    }

    func listFriends(_ request: ListFriendsRequest, context: CallContext) async throws -> ListFriendsReply {
        try await ListFriends(lists: lists, profiles: core.profiles, streaks: streaks).handle(request, context)
    }

    func listFriendRequests(_ request: ListFriendRequestsRequest, context: CallContext) async throws -> ListFriendRequestsReply {
        try await ListFriendRequests(friendships: core.friendships, profiles: core.profiles).handle(request, context)
    }

    func removeFriend(_ request: RemoveFriendRequest, context: CallContext) async throws -> RemoveFriendReply {
        try await RemoveFriend(friendships: core.friendships, mutations: mutations).handle(request, context).reply
    }

    func searchUsers(_ request: SearchUsersRequest, context: CallContext) async throws -> SearchUsersReply {
        try await SearchUsers(users: users).handle(request, context)
    }

    func nudge(_ request: NudgeRequest, context: CallContext) async throws -> NudgeReply {
        try await Nudge(
            friendships: core.friendships,
            profiles: core.profiles,
            streaks: streaks,
            mutations: mutations
        ).handle(request, context).reply
    }

    func getRequestStates(_ request: GetRequestStatesRequest, context: CallContext) async throws -> GetRequestStatesReply {
        try await GetRequestStates(friendships: core.friendships).handle(request, context)
    }

    func listFriendIDs(_ request: ListFriendIDsRequest, context: CallContext) async throws -> ListFriendIDsReply {
        try await ListFriendIDs(friendships: core.friendships).handle(request, context)
    }

    func blockUser(_ request: BlockUserRequest, context: CallContext) async throws -> Block {
        try await BlockUser(
            friendships: core.friendships,
            blocks: core.blocks,
            profiles: core.profiles,
            quotas: quotas,
            mutations: mutations
        ).handle(request, context).reply
    }

    func listBlocks(_ request: ListBlocksRequest, context: CallContext) async throws -> ListBlocksReply {
        try await ListBlocks(blocks: core.blocks, profiles: core.profiles).handle(request, context)
    }

    func unblockUser(_ request: UnblockUserRequest, context: CallContext) async throws -> UnblockUserReply {
        try await UnblockUser(blocks: core.blocks, mutations: mutations).handle(request, context).reply
    }

    func listBlockSnapshots(_ request: ListBlockSnapshotsRequest, context: CallContext) async throws -> ListBlockSnapshotsReply {
        try await ListBlockSnapshots(blocks: core.blocks).handle(request, context)
    }

    func report(_ request: ReportRequest, context: CallContext) async throws -> ReportReply {
        try await Report(
            reports: reports,
            friendships: core.friendships,
            blocks: core.blocks,
            profiles: core.profiles,
            accounts: accounts,
            snaps: snaps,
            places: places,
            posts: posts,
            quotas: quotas,
            mutations: mutations
        ).handle(request, context).reply
    }

    func listHiddenPosts(_ request: ListHiddenPostsRequest, context: CallContext) async throws -> ListHiddenPostsReply {
        try await ListHiddenPosts(database: core.database).handle(request, context)
    }

    func listReports(_ request: ListReportsRequest, context: CallContext) async throws -> ListReportsReply {
        try await ListReports(reports: reports, profiles: core.profiles, places: places, snaps: snaps, work: work)
            .handle(request, context)
    }

    func actionReport(_ request: ActionReportRequest, context: CallContext) async throws -> ReportItem {
        try await ActionReport(reports: reports, profiles: core.profiles, posts: posts, mutations: mutations)
            .handle(request, context).reply
    }
}
