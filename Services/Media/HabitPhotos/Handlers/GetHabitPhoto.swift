internal import Bus
internal import Kernel
internal import MediaAPI

/// The photo of a date of the caller's habit.
struct GetHabitPhoto: QueryHandler {
    let photos: HabitPhotos

    func handle(_ request: GetHabitPhotoRequest, _ context: CallContext) async throws -> HabitPhoto {
        try await photos.photo(
            on: HabitDay(user: try context.requireUser(), habit: request.habitID, date: request.date)
        )
    }
}
