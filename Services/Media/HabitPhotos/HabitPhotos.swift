internal import BlobStore
internal import Bus
internal import Images
internal import Kernel
internal import Logging
internal import MediaAPI
internal import MediaCore
internal import ServiceRuntime
internal import StreaksAPI
internal import WorkPool

/// Photos of habits' dates: recorded → stored → shown and emitted, in this order (D6). A job deletes what does not come to its end.
///
/// Only the owner sees them, so that they are no posts: the terms of service need not be accepted (AU-9).
struct HabitPhotos: Sendable {
    /// How long a photo may take to be shown; far longer than any request.
    private static let timeout = Interval.hours(1)

    let repository: HabitPhotoRepository
    let mutations: Mutations
    let habits: HabitsClient
    let blobs: any BlobStore
    let images: ImageProcessor
    let quotas: Quotas
    let links: MediaLinks
    let clock: any Clock
    let ids: any IDSource
    let logger: Logger

    /// The photo that a date shows, as its owner sees it.
    ///
    /// - Throws: `NOT_FOUND`.
    func photo(on day: HabitDay) async throws -> HabitPhoto {
        guard let photo = try await repository.shown(on: day) else { throw ServiceError.notFound("photo") }
        return try view(photo)
    }

    /// Makes the renditions of an upload and shows them in place of what the date has shown.
    ///
    /// - Parameter read: the bytes of the upload.
    /// - Throws: `HABIT_NOT_FOUND`, `COMPLETION_NOT_FOUND`, `QUOTA_EXCEEDED`, and as `ImageProcessor.renditions`.
    func set(
        _ request: SetHabitPhotoRequest,
        on day: HabitDay,
        _ context: CallContext,
        read: () async throws -> [UInt8]
    ) async throws -> Once<HabitPhoto> {
        let same = request.withoutKeys(of: \.photo)
        try await requireCompletion(on: day, context)
        let sha256 = request.photo?.sha256 ?? ""
        let shown = try await repository.shown(on: day)
        if let shown, shown.sha256 == sha256, !sha256.isEmpty {
            let view = try view(shown)
            return try await mutations.once(context, same) { _ in view }
        }
        // What replaces another is always taken.
        if shown == nil { try await quotas.require(2, in: .habitPhotos, of: day.user, repository.database) }
        let made = try await images.renditions(of: try await read(), for: WorkShare(of: day.user))
        var photo = StoredPhoto(id: ids.make(), day: day, sha256: sha256, createdAt: clock.now())
        (photo.width, photo.height) = (Int32(clamping: made.width), Int32(clamping: made.height))
        photo.fileBytes = Int64(made.display.count + made.thumbnail.count)
        try await repository.begin(photo, deadline: SystemClock.now() + Self.timeout)
        do {
            _ = try await blobs.put(try photo.display, made.display)
            _ = try await blobs.put(try photo.thumbnail, made.thumbnail)
            let once = try await show(photo, same, context)
            // The answer of an earlier request with this key (PF-4): its photo is the one.
            if once.reply.id != photo.id { await giveUp(photo) }
            return once
        } catch {
            await giveUp(photo)
            throw error
        }
    }

    private func requireCompletion(on day: HabitDay, _ context: CallContext) async throws {
        let date = try await habits.checkHabitDate(
            CheckHabitDateRequest(userID: day.user, habitID: day.habit, date: day.date),
            context: context
        )
        guard date.habitExists else { throw ServiceError(.notFound, "HABIT_NOT_FOUND", "There is no such habit.") }
        guard date.isCompleted else {
            throw ServiceError(.notFound, "COMPLETION_NOT_FOUND", "The habit has no completion on this date.")
        }
    }

    private func show(_ photo: StoredPhoto, _ request: SetHabitPhotoRequest, _ context: CallContext) async throws -> Once<
        HabitPhoto
    > {
        let view = try view(photo)
        return try await mutations.once(context, request) { [repository] work in
            guard let version = try await repository.show(photo, now: SystemClock.now(), work.sql) else {
                throw ServiceError.unavailable("The photo took too long to store.")
            }
            try await work.emit(Self.changed(photo.day, version, photo.id))
            return view
        }
    }

    /// Shows none any more.
    func remove(from day: HabitDay, _ request: DeleteHabitPhotoRequest, _ context: CallContext) async throws
        -> Once<DeleteHabitPhotoReply>
    {
        try await mutations.once(context, request) { [repository] work in
            if let version = try await repository.remove(from: day, now: SystemClock.now(), work.sql) {
                try await work.emit(Self.changed(day, version, nil))
            }
            return DeleteHabitPhotoReply()
        }
    }

    private static func changed(_ day: HabitDay, _ version: Int64, _ photo: HabitPhotoID?) -> HabitPhotoChanged {
        HabitPhotoChanged(userID: day.user, habitID: day.habit, date: day.date, version: version, photoID: photo)
    }

    private func view(_ photo: StoredPhoto) throws -> HabitPhoto {
        let now = clock.now()
        return HabitPhoto(
            id: photo.id,
            habitID: photo.day.habit,
            date: photo.day.date,
            photoURL: try links.link(try photo.display.description, now: now),
            thumbnailURL: try links.link(try photo.thumbnail.description, now: now),
            width: photo.width,
            height: photo.height,
            createdAt: photo.createdAt
        )
    }

    private func giveUp(_ photo: StoredPhoto) async {
        do { try await repository.giveUp(photo, now: SystemClock.now()) } catch {
            logger.warning("a photo is given up later", metadata: ["photo": "\(photo.id)", "error": "\(error)"])
        }
    }
}
