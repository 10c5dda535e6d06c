internal import Bus
internal import Kernel
internal import MediaAPI

/// Deletes the photo of a date of the caller's habit.
struct DeleteHabitPhoto: MutationHandler {
    let photos: HabitPhotos

    func handle(_ request: DeleteHabitPhotoRequest, _ context: CallContext) async throws -> Once<DeleteHabitPhotoReply> {
        let day = HabitDay(user: try context.requireUser(), habit: request.habitID, date: request.date)
        return try await photos.remove(from: day, request, context)
    }
}
