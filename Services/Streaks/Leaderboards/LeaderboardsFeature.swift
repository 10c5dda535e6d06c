internal import Bus
internal import Database
internal import Kernel
internal import Replicas
package import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Who has the longest running streaks (CI-7): of check-ins, and of each type.
package enum LeaderboardsFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "leaderboards",
            migrations: [
                MigrationSet(
                    "leaderboards",
                    [Migration(version: 1, name: "leaderboards", sql: PackageResources.V0001_leaderboards_sql)]
                )
            ],
            personalData: [.leaderboards]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let boards = Boards(database: environment.database, clock: environment.clock)
            // Nothing is answered before every board is complete.
            try await boards.load()
            let views = ViewCounter(clock: environment.clock)
            let entries = BoardEntries(database: environment.database, profiles: core.profiles, clock: environment.clock)
            let replies = BoardReplies(
                boards: boards,
                pages: GlobalPages(boards: boards, entries: entries),
                entries: entries,
                blocks: core.blocks,
                friends: FriendsClient(environment.bus),
                circles: core.circles,
                views: views
            )
            return FeatureParts(
                endpoints: endpoints(replies),
                jobs: jobs(boards, views, environment)
            )
        }
    }

    /// Replies are encoded by the handlers: a page of the board of all users is encoded once for all callers.
    static func endpoints(_ replies: BoardReplies) -> [Endpoint] {
        [
            Endpoint(LeaderboardsMethods.getLeaderboard.encoded, GetLeaderboard(replies: replies)),
            Endpoint(LeaderboardsMethods.getTypedLeaderboard.encoded, GetTypedLeaderboard(replies: replies)),
        ]
    }

    private static func jobs(_ boards: Boards, _ views: ViewCounter, _ environment: ServiceEnvironment) -> [Job] {
        let (database, work) = (environment.database, environment.work)
        return [
            Job("leaderboards", every: .milliseconds(500)) { _ in try await boards.follow() },
            Job("leaderboard_views", every: .seconds(5)) { _ in try await views.write(work) },
            Job("old_board_changes", every: .seconds(10)) { _ in try await BoardFeed.purge(database) },
            Job("old_leaderboard_views", every: .seconds(3_600)) { now in
                try await ViewRepository.delete(before: ViewCounter.week(at: now).advanced(by: -7), database)
            },
        ]
    }
}
