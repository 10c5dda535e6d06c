internal import Kernel
internal import NotificationsCore
internal import Outbox
internal import StreaksAPI

/// Changes of a user's habits, one event for each request (`HabitsEvent`).
enum HabitEvents {
    static func handlers(_ batch: EventBatch<LiveEvent>) -> [EventHandler] {
        [
            EventHandler(HabitsChanged.self, in: batch) { event, _ in
                let changes = LiveEvent.Value.objects(event.changes.map(members))
                return [LiveEvent(event.userID, "habits", [("sequence", .number(event.sequence)), ("changes", changes)])]
            }
        ]
    }

    private static func members(_ change: HabitsChange) -> [(name: String, value: LiveEvent.Value)] {
        [
            ("entity", .word(change.entity)), ("habit_id", .word(change.habitID?.description)),
            ("category_id", .word(change.categoryID?.description)), ("completion_id", .word(change.completionID?.description)),
            ("date", .word(change.date?.description)), ("status", .word(change.status)),
            ("count", .number(change.count.map(Int64.init))),
        ]
    }
}
