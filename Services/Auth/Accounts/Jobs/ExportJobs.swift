internal import AuthAPI
internal import BlobStore
internal import Bus
internal import Kernel
internal import Logging
internal import Outbox
internal import ServiceRuntime

/// Makes large exports, and deletes their files (AU-10). Any replica; one that dies leaves its work to the next.
struct ExportJobs: Sendable {
    let repository: DataExportRepository
    let sources: DataSources
    let blobs: any BlobStore
    let work: UnitOfWorkFactory
    let ids: any IDSource
    let logger: Logger

    /// What a bucket takes in one piece; some nine million photos.
    private static let mostBytes: Int64 = 5 << 30
    /// How often a replica prolongs its lease of 15 s.
    private static let heartbeat = Duration.seconds(5)

    /// The lease went to another replica, or the account was erased.
    private struct Withdrawn: Error {}

    var all: [Job] {
        [
            Job("data_exports", every: .seconds(1), limit: .seconds(3_600)) { _ in try await makeNext() },
            Job("old_data_exports", every: .seconds(5)) { now in try await deleteFiles(now: now) },
        ]
    }

    /// Makes the file of one user. A service that does not answer delays it: never less than everything.
    private func makeNext() async throws -> Int {
        guard let turn = try await repository.lease(ids.make()) else { return 0 }
        do {
            try await write(turn)
            if try await !finish(turn) { try await blobs.delete(try turn.key) }
        } catch is Withdrawn {
            return 1
        } catch {
            logger.warning("an export of personal data waits", metadata: ["error": "\(error)"])
            try await repository.postpone(turn)
        }
        return 1
    }

    /// Writes the file while it holds the lease: storing a large file takes longer than the last page.
    private func write(_ turn: DataExportTurn) async throws {
        let key = try turn.key
        let stream = ExportStream(sources: sources.sources, user: turn.user, now: work.now())
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { _ = try await blobs.put(key, from: stream, limit: Self.mostBytes) }
            tasks.addTask {
                while true {
                    try await Task.sleep(for: Self.heartbeat)
                    guard try await repository.prolong(turn) else { throw Withdrawn() }
                }
            }
            try await tasks.next()
            tasks.cancelAll()
        }
    }

    private func finish(_ turn: DataExportTurn) async throws -> Bool {
        try await work.run(trace: "", requestID: "") { work in
            guard try await DataExportRepository.finish(turn, now: work.now, work.sql) else { return false }
            let deleteAt = work.now + DataExportRepository.kept
            try await work.emit(DataExportReady(userID: turn.user, readyAt: work.now, deleteAt: deleteAt))
            return true
        }
    }

    /// Deletes all files of users, those of attempts that came to nothing too, and then the rows.
    private func deleteFiles(now: Instant) async throws -> Int {
        let users = try await repository.leaseDeletable(now: now, limit: 100)
        for user in users {
            for blob in try await blobs.list(prefix: "exports/\(user)/", after: nil, limit: 1_000) {
                try await blobs.delete(blob.key)
            }
            try await repository.delete(user)
        }
        return users.count
    }
}
