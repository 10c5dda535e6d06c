import BlobStore
import Bus
import CommonAPI
import Cryptography
import Database
import Foundation
import Images
import Kernel
import MediaAPI
import StreaksAPI
import TestSupport
import Testing
import Wire

@testable import MediaCore
@testable import MediaHabitPhotos
@testable import Outbox
@testable import ServiceRuntime

/// A `streaks` in which user 1 has one habit, done on some dates.
private struct OneHabit: Caller {
    static let id = HabitID(high: 4, low: 1)
    let user: UserID
    let dates: Set<CalendarDate>

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context: CallContext) async throws
        -> Reply
    {
        guard let asked = request as? CheckHabitDateRequest else { throw ServiceError.internal }
        let exists = asked.habitID == Self.id && asked.userID == user
        let reply = CheckHabitDateReply(habitExists: exists, isCompleted: exists && dates.contains(asked.date))
        guard let reply = reply as? Reply else { throw ServiceError.internal }
        return reply
    }
}

/// Photos of habits' dates: stored, replaced, deleted, and what is emitted of it.
@Suite(.timeLimit(.minutes(3))) struct HabitPhotoTests {
    private static let today = CalendarDate(dayNumber: 20_000)
    private static let user = UserID(high: 7, low: 1)
    private static let photos = Result {
        try (1...3).map { try SamplePhoto(seed: UInt64($0), width: 320, height: 240, location: (52.5, 13.4)).jpeg() }
    }

    private struct PhotoWorld {
        let database: Database
        let work: UnitOfWorkFactory
        let blobs: LocalBlobStore
        let photos: HabitPhotos
        let today = HabitPhotoTests.today
        var user = HabitPhotoTests.user

        var repository: HabitPhotoRepository { photos.repository }

        private func context(_ key: String?) -> CallContext {
            CallContext(
                deadline: SystemClock.now() + .minutes(1),
                principal: Principal(userID: user, role: .user),
                idempotencyKey: key
            )
        }

        /// Sends a file as the gateway passes it on.
        @discardableResult
        func set(_ bytes: [UInt8], of habit: HabitID = OneHabit.id, on date: CalendarDate? = nil, key: String? = nil) async throws
            -> HabitPhoto
        {
            let incoming = "incoming/\(UUID().uuidString.lowercased())"
            _ = try await blobs.put(try BlobKey(incoming), bytes)
            let sha256 = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
            let upload = CommonAPI.Blob(key: incoming, size: UInt64(bytes.count), sha256: sha256)
            let uploads = IncomingUploads(blobs: blobs, logger: PostgresServer.silence)
            return try await SetHabitPhoto(photos: photos, uploads: uploads).handle(
                SetHabitPhotoRequest(habitID: habit, date: date ?? today, photo: upload),
                context(key)
            ).reply
        }

        func get(_ date: CalendarDate? = nil) async throws -> HabitPhoto {
            let request = GetHabitPhotoRequest(habitID: OneHabit.id, date: date ?? today)
            return try await GetHabitPhoto(photos: photos).handle(request, context(nil))
        }

        func delete(_ date: CalendarDate? = nil, key: String? = nil) async throws {
            let request = DeleteHabitPhotoRequest(habitID: OneHabit.id, date: date ?? today)
            _ = try await DeleteHabitPhoto(photos: photos).handle(request, context(key))
        }

        /// What was emitted, in the order of the outbox.
        func emitted() async throws -> [HabitPhotoChanged] {
            try await database.query("SELECT body FROM outbox WHERE subject = \(HabitPhotoChanged.subject) ORDER BY position").map
            {
                try HabitPhotoChanged(serialized: try $0.decode(as: [UInt8].self))
            }
        }

        /// What streaks does not want any more.
        func drop(_ ids: [HabitPhotoID]) async throws {
            let event = HabitPhotosDropped(userID: user, photoIDs: ids)
            try await work.run(trace: "", requestID: "") { work in
                let stored = StoredEvent(
                    id: work.ids.make(),
                    aggregate: "",
                    subject: HabitPhotosDropped.subject,
                    trace: "",
                    requestID: "",
                    body: try event.serialized()
                )
                try await DroppedPhotos.handler.handle(stored, work)
            }
        }

        /// Runs the job that deletes, and says which photos' files are left.
        func left() async throws -> [String] {
            let job = OldHabitPhotos(repository: repository, blobs: blobs).job
            while try await job.run(SystemClock.now()) > 0 {}
            return try await blobs.list(prefix: "", after: nil, limit: 100).map(\.key.description).sorted()
        }

        func files(_ photos: HabitPhoto...) -> [String] {
            photos.flatMap { photo in ["display", "thumbnail"].map { "habit-photos/\(user)/\(photo.id)/\($0).jpg" } }.sorted()
        }

        /// Expects a refusal with this reason.
        func expect(
            _ reason: String,
            sourceLocation: SourceLocation = #_sourceLocation,
            _ body: () async throws -> Void
        ) async {
            var found: String?
            do { try await body() } catch let error as ServiceError { found = error.reason } catch { found = "\(error)" }
            #expect(found == reason, sourceLocation: sourceLocation)
        }
    }

    private func withPhotos(quotas: Quotas = Quotas(), _ body: (PhotoWorld, [[UInt8]]) async throws -> Void) async throws {
        let pictures = try Self.photos.get()
        try await mediaTemplate.withDatabase(poolSize: 8, adjust: PostgresServer.patient) { database in
            let folder = FileManager.default.temporaryDirectory.appending(path: "habit-photos-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let logger = PostgresServer.silence
            let blobs = LocalBlobStore(folder: folder.path, minimumFree: 0, logger: logger)
            let clock = ManualClock(Instant(seconds: 1_764_000_000))
            let ids = UUIDv7Source(clock: SystemClock())
            let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: nil)
            let dates: Set = [Self.today, Self.today.advanced(by: -1)]
            let photos = HabitPhotos(
                repository: HabitPhotoRepository(database: database),
                mutations: Mutations(work: work, database: database),
                habits: HabitsClient(OneHabit(user: Self.user, dates: dates)),
                blobs: blobs,
                images: ImageProcessor(queueLimit: 100, logger: logger),
                quotas: quotas,
                links: try MediaLinks(secret: "a media signing key for tests of habit photos", base: ""),
                clock: clock,
                ids: ids,
                logger: logger
            )
            try await body(PhotoWorld(database: database, work: work, blobs: blobs, photos: photos), pictures)
        }
    }

    @Test func `a photo is stored in two sizes, and its id is emitted`() async throws {
        try await withPhotos { world, pictures in
            let photo = try await world.set(pictures[0])
            #expect(photo.habitID == OneHabit.id && photo.date == world.today && (photo.width, photo.height) == (320, 240))
            #expect(photo.photoURL.hasPrefix("/media/habit-photos/\(world.user)/\(photo.id)/display.jpg?"))
            #expect(photo.thumbnailURL.hasPrefix("/media/habit-photos/\(world.user)/\(photo.id)/thumbnail.jpg?"))
            #expect(try await world.get() == photo)
            #expect(try await world.emitted().map(\.photoID) == [photo.id])
            #expect(try await world.left() == world.files(photo), "and nothing of the upload")
            await world.expect("NOT_FOUND") { _ = try await world.get(world.today.advanced(by: -1)) }
            var other = world
            other.user = UserID(high: 7, low: 2)
            await other.expect("NOT_FOUND") { _ = try await other.get() }
        }
    }

    @Test func `another photo replaces the one before, the same bytes change nothing`() async throws {
        try await withPhotos { world, pictures in
            let first = try await world.set(pictures[0])
            #expect(try await world.set(pictures[0]) == first)
            let second = try await world.set(pictures[1])
            #expect(second.id != first.id)
            let other = try await world.set(pictures[0], on: world.today.advanced(by: -1))
            #expect(try await world.left() == world.files(second, other))
            let emitted = try await world.emitted()
            #expect(emitted.map(\.photoID) == [first.id, second.id, other.id])
            #expect(emitted.map(\.version) == emitted.map(\.version).sorted() && Set(emitted.map(\.version)).count == 3)
        }
    }

    @Test func `what photos take has a quota, which refuses another date and no other photo of the same`() async throws {
        try await withPhotos(quotas: Quotas(["habit_photo.file_bytes": 2])) { world, pictures in
            let yesterday = world.today.advanced(by: -1)
            let first = try await world.set(pictures[0], key: "one")
            var stored: Int64 = 0
            for key in try await world.left() { stored += try await world.blobs.info(of: try BlobKey(key))?.size ?? 0 }
            let noted: Query = "SELECT sum(file_bytes)::bigint FROM habit_photo WHERE state = 1"
            #expect(try await world.database.query(noted).first?.get(at: 0) == stored && stored > 0)
            try await world.database.execute("UPDATE habit_photo SET file_bytes = 1000000")
            await world.expect("QUOTA_EXCEEDED") { _ = try await world.set(pictures[0], on: yesterday) }
            #expect(try await world.left() == world.files(first))
            let second = try await world.set(pictures[1])
            #expect(try await world.set(pictures[0], key: "one") == first, "the answer of a repeat stays")
            #expect(try await world.left() == world.files(second))
            try await world.delete()
            #expect(try await world.left() == [])
            _ = try await world.set(pictures[0], on: yesterday)
        }
    }

    @Test func `a repeat with the same key gets the first answer`() async throws {
        try await withPhotos { world, pictures in
            let first = try await world.set(pictures[0], key: "one")
            try await world.delete(key: "two")
            #expect(try await world.set(pictures[0], key: "one") == first, "although it is deleted since")
            await world.expect("IDEMPOTENCY_KEY_REUSED") { try await world.set(pictures[1], key: "one") }
            // At the same time: one of them is made, and all get it.
            let key = "three"
            let replies = try await withThrowingTaskGroup(of: HabitPhoto.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        while true {
                            do { return try await world.set(pictures[2], key: key) } catch let error as ServiceError
                                where error.reason == "REQUEST_IN_PROGRESS"
                            {}
                        }
                    }
                }
                return try await group.reduce(into: [HabitPhoto]()) { $0.append($1) }
            }
            #expect(Set(replies.map(\.id)).count == 1)
            let shown = try await world.get()
            #expect(shown.id == replies[0].id)
            // The upload of one that found the first at work could be the first one's: `AbandonedUploads` deletes it.
            #expect(try await world.left().filter { !$0.hasPrefix("incoming/") } == world.files(shown))
        }
    }

    @Test func `of what is refused nothing is kept`() async throws {
        try await withPhotos { world, pictures in
            let (yesterday, before) = (world.today.advanced(by: -1), world.today.advanced(by: -2))
            await world.expect("COMPLETION_NOT_FOUND") { try await world.set(pictures[0], on: before) }
            let strange = HabitID(high: 4, low: 2)
            await world.expect("HABIT_NOT_FOUND") { try await world.set(pictures[0], of: strange) }
            await world.expect("UNSUPPORTED_IMAGE_TYPE") { try await world.set(Array("<svg/>".utf8)) }
            let half = Array(pictures[0].prefix(pictures[0].count / 2))
            await world.expect("IMAGE_UNDECODABLE") { try await world.set(half, on: yesterday) }
            let rows = try await world.database.query("SELECT 1 FROM habit_photo")
            #expect(rows.isEmpty)
            #expect(try await world.emitted().isEmpty)
            #expect(try await world.left() == [])
        }
    }

    @Test func `a photo is deleted with its bytes, and a second deletion emits nothing`() async throws {
        try await withPhotos { world, pictures in
            try await world.set(pictures[0])
            try await world.delete()
            try await world.delete()
            await world.expect("NOT_FOUND") { _ = try await world.get() }
            let emitted = try await world.emitted()
            #expect(emitted.count == 2 && emitted[1].photoID == nil && emitted[0].version < emitted[1].version)
            #expect(try await world.left() == [])
            #expect(try await world.database.query("SELECT 1 FROM habit_photo").isEmpty)
        }
    }

    @Test func `what streaks drops is deleted by its id: a photo that has replaced it stays`() async throws {
        try await withPhotos { world, pictures in
            let first = try await world.set(pictures[0])
            let second = try await world.set(pictures[1])
            try await world.drop([first.id])
            #expect(try await world.get().id == second.id)
            // Another user's event is about photos of theirs only.
            var other = world
            other.user = UserID(high: 7, low: 2)
            try await other.drop([second.id])
            #expect(try await world.get().id == second.id)
            for _ in 0..<2 { try await world.drop([second.id]) }
            await world.expect("NOT_FOUND") { _ = try await world.get() }
            #expect(try await world.left() == [])
        }
    }

    @Test func `whatever comes at once, the newest version says what is shown`() async throws {
        try await withPhotos { world, pictures in
            for _ in 0..<3 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<8 {
                        group.addTask {
                            if number.isMultiple(of: 2) {
                                try await world.set(pictures[number / 2 % 3])
                            } else {
                                try await world.delete()
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let newest = try #require(try await world.emitted().max { $0.version < $1.version })
                let shown = try await world.repository.shown(
                    on: HabitDay(user: world.user, habit: OneHabit.id, date: world.today)
                )
                #expect(newest.photoID == shown?.id)
            }
            try await world.delete()
            #expect(try await world.left() == [])
        }
    }
}
