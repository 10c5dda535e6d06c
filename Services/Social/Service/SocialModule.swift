internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
public import Runtime
internal import SocialAPI
internal import StreaksAPI

/// How `social` is put together.
public enum SocialModule: ServiceModule {
    public static let name = "social"
    public static let about = "friend requests and friendships"
    public static let migrations = [
        MigrationSet("profile_replica", ProfileReplica.migrations),
        MigrationSet("social", [Migration(version: 1, name: "friendships", sql: PackageResources.V0001_friendships_sql)]),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (SocialMethods.descriptorSet, SocialMethods.descriptorHash) }

    public static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly {
        let service = SocialService(
            friendships: FriendshipRepository(database: environment.database),
            profiles: ProfileReplica(database: environment.database, bus: environment.bus),
            streaks: StreaksClient(environment.bus),
            mutations: environment.mutations
        )
        return ServiceAssembly(endpoints: service.endpoints(), consumers: [service.profiles.handler()] + LifecycleConsumers.all)
    }
}
