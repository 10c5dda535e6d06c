internal import Kernel
internal import NotificationsAPI
internal import Outbox

/// Who wants words of motivation: the switch is one of the notification preferences (NO-2).
enum MotivationConsumer {
    static let handler = EventHandler(MotivationSwitched.self) { event, work in
        try await HabitScheduleRepository.setMotivation(event.isOn, of: event.userID, at: work.now, work.sql)
    }
}
