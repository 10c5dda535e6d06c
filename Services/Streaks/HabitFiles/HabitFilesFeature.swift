internal import BlobConfiguration
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain
internal import WorkPool

/// Exports, backups, restores and imports of habits (HA-6).
package enum HabitFilesFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature("habit_files", settings: BlobSettings.storage) { environment in
            let habits = HabitStore(try StreaksCore(environment, extensions), work: environment.work)
            let blobs = try await BlobSettings.store(environment.settings, logger: environment.logger)
            let documents = HabitDocuments(habits: habits, blobs: blobs, ids: environment.ids)
            let uploads = UploadedHabits(
                habits: habits,
                blobs: blobs,
                // A large file takes seconds, and its memory: two at a time.
                pool: WorkPool(name: "habit-files", threads: 2, queueLimit: 8, niceness: 10, refusal: .tooManyImports),
                logger: environment.logger
            )
            let mutations = environment.mutations
            return FeatureParts(
                endpoints: HabitFilesService.endpoints(
                    exportHabits: ExportHabits(documents: documents),
                    backupHabits: BackupHabits(documents: documents, mutations: mutations),
                    restoreHabits: RestoreHabits(uploads: uploads, mutations: mutations),
                    importHabits: ImportHabits(uploads: uploads, mutations: mutations)
                ),
                jobs: [ExpiredHabitFiles(blobs: blobs).job]
            )
        }
    }
}

extension ServiceError {
    static let tooManyImports = ServiceError(
        .resourceExhausted,
        "TOO_MANY_IMPORTS",
        "Too many files are being read right now.",
        retryAfter: 5
    )

    /// - Parameter errors: those that are listed.
    static func invalidFile(_ errors: [HabitFileProblem], count: Int) -> ServiceError {
        ServiceError(
            .invalidArgument,
            "INVALID_FILE",
            "The file has \(count) \(count == 1 ? "error" : "errors"); nothing was changed.",
            details: errors.map { ServiceError.Detail(field: $0.place, message: $0.message) }
        )
    }
}
