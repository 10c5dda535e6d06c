internal import BlobStore
internal import Bus
internal import CommonAPI
internal import Kernel
internal import Logging
internal import StreaksCore
internal import StreaksDomain
internal import Synchronization
internal import WorkPool
internal import Zip

/// Reads the files that users bring.
struct UploadedHabits: Sendable {
    let habits: HabitStore
    let blobs: any BlobStore
    let pool: WorkPool
    let readers = Readers()
    let logger: Logger

    /// Reads an upload, and deletes it when `body` has ended, whether it succeeds or not.
    ///
    /// - Parameters:
    ///   - limit: most bytes of the file.
    ///   - read: what the file says; it runs on a thread of its own.
    func use<Result: Sendable>(
        _ upload: CommonAPI.Blob?,
        of user: UserID,
        limit: Int64,
        _ context: CallContext,
        read: @escaping @Sendable ([UInt8], HabitFileContext) -> HabitImport,
        _ body: (HabitImport) async throws -> Result
    ) async throws -> Result {
        guard let upload, upload.key.hasPrefix("incoming/") else { throw ServiceError.validation(field: "file", "is required") }
        let key = try BlobKey(upload.key)
        do {
            // Before the file is in memory.
            guard readers.enter(user) else { throw ServiceError.tooManyImports }
            defer { readers.leave(user) }
            let date = try await habits.knowing(user, context) { try await habits.date(of: user, context) }
            let account = try await HabitAccountRepository.find(user, at: date.now, habits.database)
            let known = HabitFileContext(
                today: date.today,
                zone: date.zones.zone(at: date.now),
                weekStart: account.settings.firstDayOfWeek
            )
            let bytes = try await bytes(of: key, limit)
            let found = try await pool.run { read(bytes, known) }
            let result = try await body(found)
            await delete(key)
            return result
        } catch {
            await delete(key)
            throw error
        }
    }

    /// Whose files are being read: one at a time of each user, and a few in all, since each is in memory.
    final class Readers: Sendable {
        private static let most = 10
        private let users = Mutex(Set<UserID>())

        /// - Returns: whether the user may.
        func enter(_ user: UserID) -> Bool { users.withLock { $0.count < Self.most && $0.insert(user).inserted } }

        func leave(_ user: UserID) { users.withLock { _ = $0.remove(user) } }
    }

    /// Deletes the upload of a request that has its answer already.
    func discard(_ upload: CommonAPI.Blob?) async {
        guard let upload, upload.key.hasPrefix("incoming/"), let key = try? BlobKey(upload.key) else { return }
        await delete(key)
    }

    /// - Throws: `UNAVAILABLE` when another sending of the same request has ended and deleted it: the client sends it again.
    private func bytes(of key: BlobKey, _ limit: Int64) async throws -> [UInt8] {
        do { return try await blobs.read(key, limit: limit) } catch let error as ServiceError where error.code == .notFound {
            throw ServiceError.unavailable("The upload was interrupted. Send it again.")
        }
    }

    private func delete(_ key: BlobKey) async {
        do { try await blobs.delete(key) } catch {
            // Media's job for abandoned uploads deletes it later.
            logger.warning("an upload was not deleted", metadata: ["key": "\(key)", "error": "\(error)"])
        }
    }

    /// The ZIP of Loop Habit Tracker.
    static func loop(_ bytes: [UInt8], _ context: HabitFileContext) -> HabitImport {
        do throws(ZipError) {
            let archive = try ZipArchive(bytes)
            var files: [LoopFile] = []
            for entry in archive.entries where LoopFile.isRead(entry.name) {
                files.append(LoopFile(path: entry.name, bytes: try archive.content(of: entry)))
            }
            return LoopImport.read(files, context)
        } catch {
            var found = HabitImport()
            found.problems.error("", words(error))
            return found
        }
    }

    private static func words(_ error: ZipError) -> String {
        switch error {
        case .corrupt: "is no ZIP archive, or a damaged one"
        case .encrypted: "is an encrypted ZIP archive"
        case .unsupported: "is a ZIP archive of a kind that cannot be read here"
        case .tooManyEntries: "is a ZIP archive with too many files"
        case .tooLarge: "is a ZIP archive that unpacks to more than can be read here"
        case .unsafeName: "is a ZIP archive with a name that leads out of it"
        }
    }
}
