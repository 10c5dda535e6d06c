internal import Kernel
internal import Outbox
internal import StreaksAPI

/// Photos of dates without a completion: they are deleted. Each is named by its id, so that another photo of the same date stays.
enum DroppedPhotos {
    static let handler = EventHandler(HabitPhotosDropped.self) { event, work in
        try await HabitPhotoRepository.drop(event.photoIDs, of: event.userID, now: SystemClock.now(), work.sql)
    }
}
