internal import Kernel
internal import NotificationsCore
internal import Outbox
internal import StreaksAPI

/// Changes of circles' streaks for their members (`TeamStreakEvent`), and a user's own check-ins to circles (`CircleCheckInEvent`).
enum TeamEvents {
    private enum Status: String {
        case active, grace, broken, ended
    }

    static func handlers(_ batch: EventBatch<LiveEvent>) -> [EventHandler] {
        [
            EventHandler(TeamStreakStarted.self, in: batch) { event, _ in
                changed(event.streakID, event.circleID, event.memberIDs, .active, 0)
            },
            EventHandler(TeamStreakExtended.self, in: batch) { event, _ in
                changed(event.streakID, event.circleID, event.memberIDs, .active, event.count, event.date)
            },
            EventHandler(TeamGraceStarted.self, in: batch) { event, _ in
                changed(event.streakID, event.circleID, event.memberIDs, .grace, event.count, event.date)
            },
            EventHandler(TeamStreakBroken.self, in: batch) { event, _ in
                // The event has the count that was lost.
                changed(event.streakID, event.circleID, event.memberIDs, .broken, 0, event.missedDate)
            },
            EventHandler(TeamStreakRestored.self, in: batch) { event, _ in
                changed(event.streakID, event.circleID, event.memberIDs, .active, event.count, event.missedDate)
            },
            EventHandler(TeamStreakEnded.self, in: batch) { event, _ in
                changed(event.streakID, event.circleID, event.memberIDs, .ended)
            },
            EventHandler(CircleCheckedIn.self, in: batch) { event, _ in
                let members: [(name: String, value: LiveEvent.Value)] = [
                    ("circle_id", .word(event.circleID.description)), ("date", .word(event.date.description)),
                ]
                return [LiveEvent(event.userID, "circle_check_in", members)]
            },
        ]
    }

    private static func changed(
        _ streak: StreakID,
        _ circle: CircleID,
        _ members: [UserID],
        _ status: Status,
        _ count: Int32? = nil,
        _ date: CalendarDate? = nil
    ) -> [LiveEvent] {
        members.map { member in
            LiveEvent(
                member,
                "team_streak",
                [
                    ("streak_id", .word(streak.description)), ("circle_id", .word(circle.description)),
                    ("status", .word(status.rawValue)), ("count", .number(count.map(Int64.init))),
                    ("date", .word(date?.description)),
                ]
            )
        }
    }
}
