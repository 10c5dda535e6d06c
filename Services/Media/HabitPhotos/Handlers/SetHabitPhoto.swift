internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import ServiceRuntime

/// Stores the photo of a date of the caller's habit in place of the one before. The bytes are decoded before anything is recorded: of a refused
/// file nothing is kept.
struct SetHabitPhoto: MutationHandler {
    let photos: HabitPhotos
    let uploads: IncomingUploads

    func handle(_ request: SetHabitPhotoRequest, _ context: CallContext) async throws -> Once<HabitPhoto> {
        let day = HabitDay(user: try context.requireUser(), habit: request.habitID, date: request.date)
        return try await photos.mutations.alone(
            context,
            request.withoutKeys(of: \.photo),
            answered: { await uploads.discard(request.photo) },
            {
                try await uploads.use(request.photo, "photo") { _, key in
                    try await photos.set(request, on: day, context) { try await uploads.bytes(of: key) }
                }
            }
        )
    }
}
