internal import AuthAPI
package import Bus
package import Database
internal import Kernel
package import Replicas
internal import Runtime
package import ServiceRuntime

/// What the features of `social` share: friendships, blocks and the profile replica. Loaded by every replica.
package enum CoreFeature {
    /// The feature.
    ///
    /// - Parameter followers: what the other features add to a change of a profile.
    package static func feature(_ followers: [any ProfileFollower]) -> ServiceFeature {
        ServiceFeature(
            "core",
            settings: [LinkSettings.publicURL],
            migrations: [
                MigrationSet("profile_replica", ProfileReplica.migrations),
                MigrationSet(
                    "core",
                    [
                        Migration(version: 1, name: "social", sql: PackageResources.V0001_social_sql),
                        Migration(version: 2, name: "ended_ties", sql: PackageResources.V0002_ended_ties_sql),
                    ]
                ),
            ],
            personalData: [.core, ProfileReplica.personalData],
            isAlwaysLoaded: true
        ) { environment in
            let core = try SocialCore(environment, followers)
            return FeatureParts(
                consumers: [core.profiles.handler()] + LifecycleConsumers.all,
                jobs: [core.profiles.snapshotJob]
            )
        }
    }
}

/// What the features of `social` share.
package struct SocialCore: Sendable {
    package let database: Database
    package let friendships: FriendshipRepository
    package let blocks: BlockRepository
    package let profiles: ProfileReplica
    package let avatars: AvatarLinks

    /// From the parts of a replica.
    ///
    /// - Throws: `Settings.Invalid`.
    package init(_ environment: ServiceEnvironment, _ followers: [any ProfileFollower]) throws {
        self.init(
            database: environment.database,
            bus: environment.bus,
            avatars: AvatarLinks(base: try environment.settings.get(LinkSettings.publicURL)),
            followers
        )
    }

    package init(database: Database, bus: any Caller, avatars: AvatarLinks, _ followers: [any ProfileFollower]) {
        self.database = database
        self.avatars = avatars
        friendships = FriendshipRepository(database: database)
        blocks = BlockRepository(database: database)
        profiles = ProfileReplica(database: database, bus: bus, avatars: avatars) { state, sql in
            for follower in followers { try await follower.profileChanged(state, sql) }
        }
    }
}
