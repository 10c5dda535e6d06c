internal import Kernel
internal import Outbox
internal import StreaksAPI

/// A check-in in a circle counts as the day's check-in, with the time at which it was received (CI-1).
struct CircleConsumer: Sendable {
    let recorder: CheckInRecorder

    var handler: EventHandler {
        EventHandler(CircleCheckedIn.self) { event, work in
            // Nothing is made again for a user whose account is gone.
            let profile = try await recorder.streaks.profiles.known([event.userID], work.sql)[event.userID]
            guard let profile else { throw ServiceError.unavailable("The profile has not come yet.") }
            guard profile.status != .deleted else { return }
            let hasBoth = event.mood != nil && event.energy != nil
            let report = TrackingReport(
                mood: hasBoth ? event.mood : nil,
                energy: hasBoth ? event.energy : nil,
                capturedAt: event.checkInTime,
                kind: .circleCheckIn
            )
            do {
                let (user, received) = (event.userID, event.receivedAt ?? work.now)
                let queued = try recorder.enqueue(user, receivedAt: received, work)
                _ = try await recorder.record(report, of: user, receivedAt: received, by: queued, work)
            } catch let refusal as ServiceError where refusal.code == .failedPrecondition || refusal.code == .invalidArgument {
                // It counts for the circle and not here: the account was shut meanwhile.
            }
        }
    }
}
