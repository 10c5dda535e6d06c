internal import Database
internal import MediaAPI
internal import MediaCore
internal import Runtime
package import ServiceRuntime

/// Pictures of users (AU-10).
package enum AvatarsFeature {
    package static let feature = ServiceFeature(
        "avatars",
        migrations: [MigrationSet("avatars", [Migration(version: 1, name: "avatars", sql: PackageResources.V0001_avatars_sql)])],
        personalData: [.avatars]
    ) { environment in
        let core = try await MediaCore.shared(by: environment)
        let repository = AvatarRepository(database: environment.database)
        let avatars = Avatars(
            repository: repository,
            mutations: environment.mutations,
            blobs: core.blobs,
            images: core.images,
            links: core.links,
            ids: environment.ids,
            logger: environment.logger
        )
        return FeatureParts(
            endpoints: AvatarsService.endpoints(
                uploadAvatar: UploadAvatar(avatars: avatars, terms: core.terms, uploads: core.uploads),
                removeAvatar: RemoveAvatar(avatars: avatars)
            ),
            jobs: [
                OldAvatars(repository: repository, blobs: core.blobs).job,
                MovedAvatars(
                    stale: StaleAvatarRepository(database: environment.database),
                    avatars: avatars,
                    work: environment.work
                ).job,
            ]
        )
    }
}
