internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
package import ServiceRuntime
internal import SocialAPI
package import SocialCore
internal import SocialDomain
internal import StreaksAPI

/// Friend requests, friendships, search and nudges (SO-1 to SO-6).
package enum FriendsFeature {
    static let keptFriendPages = Setting(
        "friends.kept-pages",
        default: 1_000,
        in: 0...10_000_000,
        help: "Friend lists kept in memory while they do not change, some 30 kB each with 50 friends; 0: none."
    )

    /// The feature.
    ///
    /// - Parameter followers: what all features add to a change of a profile.
    package static func feature(_ followers: [any ProfileFollower]) -> ServiceFeature {
        ServiceFeature(
            "friends",
            settings: [LinkSettings.publicURL, keptFriendPages],
            migrations: [
                MigrationSet(
                    "friends",
                    [
                        Migration(version: 1, name: "friends", sql: PackageResources.V0001_friends_sql),
                        Migration(version: 2, name: "accents", sql: PackageResources.V0002_accents_sql),
                        Migration(version: 3, name: "long_names", sql: PackageResources.V0003_long_names_sql),
                    ]
                )
            ],
            personalData: [.friends]
        ) { environment in
            let core = try SocialCore(environment, followers)
            let requests = RequestRepository(database: environment.database)
            let pages = try environment.settings.get(keptFriendPages)
            return FeatureParts(
                endpoints: endpoints(core, requests, environment, keptFriendPages: pages),
                jobs: [
                    Job("old_sent_requests", every: .seconds(600)) { now in
                        try await requests.deleteSent(before: now - .hours(1))
                    }
                ]
            )
        }
    }

    private static func endpoints(
        _ core: SocialCore,
        _ requests: RequestRepository,
        _ environment: ServiceEnvironment,
        keptFriendPages: Int
    ) -> [Endpoint] {
        let (friendships, profiles, mutations) = (core.friendships, core.profiles, environment.mutations)
        let streaks = FriendStreaks(MutualClient(environment.bus))
        return FriendsService.endpoints(
            sendFriendRequest: SendFriendRequest(
                friendships: friendships,
                requests: requests,
                blocks: core.blocks,
                profiles: profiles,
                streaks: streaks,
                mutations: mutations
            ),
            respondToFriendRequest: RespondToFriendRequest(
                friendships: friendships,
                profiles: profiles,
                streaks: streaks,
                mutations: mutations
            ),
            listFriends: ListFriends(
                lists: FriendLists(database: core.database, avatars: core.avatars, capacity: keptFriendPages),
                profiles: profiles,
                streaks: streaks
            ),
            listFriendRequests: ListFriendRequests(friendships: friendships, profiles: profiles),
            removeFriend: RemoveFriend(friendships: friendships, mutations: mutations),
            searchUsers: SearchUsers(users: SearchRepository(database: core.database, avatars: core.avatars)),
            nudge: Nudge(friendships: friendships, profiles: profiles, streaks: streaks, mutations: mutations),
            findFriendship: FindFriendship(friendships: friendships, profiles: profiles),
            listFriendIDs: ListFriendIDs(friendships: friendships),
            countEndedTies: CountEndedTies(database: core.database),
            getRequestStates: GetRequestStates(friendships: friendships)
        )
    }
}
