internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksCore

/// Deletes for good what is too old to come back: habits, tombstones, confirmations.
struct HabitPurge: Sendable {
    let work: UnitOfWorkFactory
    let database: Database

    /// How long a deleted habit can come back.
    static let restorable = Interval.days(30)
    /// How long devices find out what was deleted (HA-7).
    private static let remembered = Interval.days(400)

    var jobs: [Job] {
        [
            Job("deleted_habits", every: .seconds(600)) { now in
                try await work.run(trace: "", requestID: "deleted habits") { work in
                    let due = try await HabitRepository.lockDeleted(before: now - Self.restorable, limit: 100, work.sql)
                    guard !due.isEmpty else { return 0 }
                    let photos = try await HabitPhotoRepository.dropAll(of: due, at: work.now, work.sql)
                    for user in photos.keys.sorted() { try await work.dropPhotos(photos[user] ?? [], of: user) }
                    try await HabitRepository.purge(due, work.sql)
                    return due.count
                }
            },
            Job("habit_tombstones", every: .seconds(600)) { now in
                try await HabitAccountRepository.deleteTombstones(before: now - Self.remembered, limit: 1_000, database)
            },
            Job("habit_photo_versions", every: .seconds(600)) { now in
                try await HabitPhotoRepository.deleteGone(before: now - Self.remembered, limit: 1_000, database)
            },
            Job("habit_clearings", every: .seconds(600)) { now in
                try await ClearingRepository.deleteExpired(at: now, limit: 1_000, database)
            },
        ]
    }
}
