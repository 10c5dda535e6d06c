internal import MediaAPI
internal import Outbox
internal import StreaksCore

/// The photo of a date of a habit, as media stores and deletes it.
struct PhotoConsumer: Sendable {
    let habits: HabitStore

    var handler: EventHandler {
        EventHandler(HabitPhotoChanged.self) { event, work in
            try await habits.setPhoto(
                event.photoID,
                version: event.version,
                of: event.habitID,
                on: event.date,
                by: event.userID,
                work
            )
        }
    }
}
