internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksCore

/// A member's own check-in contributes to all of their circles (TS-4), and is in their feeds.
struct CheckInConsumers: Sendable {
    let checkIns: TeamCheckIns

    var handlers: [EventHandler] {
        let batch = EventBatch<TeamCheckIns.OwnCheckIn> { events, work in try await checkIns.follow(events, work) }
        return [
            EventHandler(SoloStreakExtended.self, in: batch) { event, now in
                // A date that a freeze kept is no check-in of the member's.
                guard event.kind == .checkIn, event.via == .contribution else { return [] }
                return [.init(user: event.userID, date: event.date, at: event.receivedAt ?? event.at ?? now, count: event.count)]
            }
        ]
    }
}
