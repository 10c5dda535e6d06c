internal import Database
internal import MediaAPI
internal import MediaCore
internal import Runtime
package import ServiceRuntime
internal import StreaksAPI

/// Photos of what was done of a habit.
package enum HabitPhotosFeature {
    package static let feature = ServiceFeature(
        "habit-photos",
        migrations: [
            MigrationSet(
                "habit_photos",
                [
                    Migration(version: 1, name: "habit_photos", sql: PackageResources.V0001_habit_photos_sql),
                    Migration(version: 2, name: "file bytes", sql: PackageResources.V0002_file_bytes_sql),
                ]
            )
        ],
        personalData: [.habitPhotos]
    ) { environment in
        let core = try await MediaCore.shared(by: environment)
        let repository = HabitPhotoRepository(database: environment.database)
        let photos = HabitPhotos(
            repository: repository,
            mutations: environment.mutations,
            habits: HabitsClient(environment.bus),
            blobs: core.blobs,
            images: core.images,
            quotas: environment.quotas,
            links: core.links,
            clock: environment.clock,
            ids: environment.ids,
            logger: environment.logger
        )
        return FeatureParts(
            endpoints: HabitPhotosService.endpoints(
                setHabitPhoto: SetHabitPhoto(photos: photos, uploads: core.uploads),
                getHabitPhoto: GetHabitPhoto(photos: photos),
                deleteHabitPhoto: DeleteHabitPhoto(photos: photos)
            ),
            consumers: [DroppedPhotos.handler],
            jobs: [OldHabitPhotos(repository: repository, blobs: core.blobs).job]
        )
    }
}
