internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes exports and backups that have been fetched, or never will be. They stay as long as a repeat of the request is answered with them.
struct ExpiredHabitFiles: Sendable {
    private static let age = Interval.hours(25)

    let blobs: any BlobStore
    /// Blobs carry the machine's time, not the development clock's.
    var now: @Sendable () -> Instant = { SystemClock.now() }

    var job: Job {
        Job("expired_habit_files", every: .seconds(300)) { [blobs, now] _ in
            let limit = now() - Self.age
            let files = try await blobs.list(prefix: HabitDocuments.folder, after: nil, limit: 1_000)
            let old = files.filter { $0.modified < limit }
            for file in old { try await blobs.delete(file.key) }
            return old.count
        }
    }
}
