internal import Kernel
internal import Outbox
internal import StreaksCore
internal import StreaksDomain

/// Records activities: one for each user, type and date (TS-1).
struct Activities: Sendable {
    let writer: StreakWriter

    /// What recording came to.
    struct Recorded: Sendable {
        /// nil when the date had an activity already.
        let change: PlannedChange?
        let streak: StoredStreak
        let state: StreakState
        let date: CalendarDate
        /// The client's time was not believed, and the time of receipt counts (SD-2).
        let isCaptureIgnored: Bool
    }

    /// Records an activity for the date that its times claim (SD-1, SD-2). A date that has one is left as it is.
    ///
    /// - Throws: `STREAK_NOT_ACTIVE`.
    func record(
        _ kind: StreakKind,
        by user: UserID,
        receivedAt: Instant,
        capturedAt: Instant?,
        _ work: UnitOfWork
    ) async throws -> Recorded {
        let policy = writer.policy(for: kind)
        let first = StreakWriter.FirstActivity(receivedAt: receivedAt, capturedAt: capturedAt)
        let streak = try await writer.solo(kind, of: user, first: first, work)
        guard let zones = streak.ledger.participants.first?.zones else { throw ServiceError.internal }
        let claim = zones.claim(receivedAt: receivedAt, capturedAt: capturedAt, policy)
        if streak.ledger.contributions[claim.date]?.isEmpty == false {
            return Recorded(
                change: nil,
                streak: streak,
                state: fold(streak.ledger, policy, at: max(work.now, streak.row.settledAt)),
                date: claim.date,
                isCaptureIgnored: claim.isCaptureIgnored
            )
        }
        let received = first.received(in: streak.ledger, by: zones, policy)
        let command = StreakCommand.contribute(user, receivedAt: received, capturedAt: capturedAt)
        let change = try await writer.apply(command, to: streak, work)
        return Recorded(
            change: change,
            streak: streak,
            state: change.change.state,
            date: change.change.creditedTo ?? claim.date,
            isCaptureIgnored: claim.isCaptureIgnored
        )
    }

    /// Records an activity that another part of the platform has credited to a date. One that cannot count any more is no error.
    func record(_ kind: StreakKind, by user: UserID, on date: CalendarDate, receivedAt: Instant, _ work: UnitOfWork) async throws
    {
        let first = StreakWriter.FirstActivity(receivedAt: receivedAt, date: date)
        let streak = try await writer.solo(kind, of: user, first: first, work)
        guard streak.ledger.contributions[date]?.isEmpty != false, let zones = streak.ledger.participants.first?.zones else {
            return
        }
        // The time that claims the date: its end by the user's clock, when it is over.
        let captured = zones.date(at: receivedAt) > date ? zones.end(of: date) - .seconds(1) : nil
        // Before the first date it is what the streak would have begun with.
        let received = date < streak.ledger.firstDate ? first.beginning(zones, writer.policy(for: kind)) : receivedAt
        let command = StreakCommand.contribute(user, receivedAt: received, capturedAt: captured)
        do { try await writer.apply(command, to: streak, work) } catch let refusal as ServiceError where refusal.isOfTheStreak {
            return
        }
    }
}

extension ServiceError {
    /// Whether a streak refuses a contribution for good.
    fileprivate var isOfTheStreak: Bool {
        ["STREAK_NOT_ACTIVE", "ALREADY_POSTED", "NOT_A_MEMBER"].contains(reason)
    }
}
