internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksDomain

/// Nothing is expected until a date, which counts again (CI-4).
struct PauseCheckIns: MutationHandler {
    let streaks: CheckInStreaks
    let mutations: Mutations

    func handle(_ request: PauseCheckInsRequest, _ context: CallContext) async throws -> Once<PauseCheckInsReply> {
        let user = try context.requireUser()
        // Before anything is waited for: a pause that was asked for before midnight holds for that date.
        let received = mutations.work.now()
        try await streaks.prepare(user, context)
        return try await mutations.once(context, request) { [streaks] work in
            let stored = try await streaks.lock(user, work)
            let today = streaks.settled(stored, at: received).today
            try Self.check(request.resumeDate, from: today, streaks.policy)
            let written = try await streaks.writer.apply(
                .pause(until: request.resumeDate, receivedAt: received),
                to: stored,
                work
            )
            // Another one that lies ahead of it may go on longer.
            let pause = written.change.ledger.pauses.last
            let (from, end, count) = (pause?.from ?? today, pause?.until ?? request.resumeDate, written.change.state.count)
            try await CheckInRepository.addPause(
                user,
                from: from,
                until: end,
                reason: request.reason,
                notes: request.notes,
                at: pause?.at ?? work.now,
                work.sql
            )
            let until = CheckInWords.day(end)
            return PauseCheckInsReply(
                data: PausedCheckIns(
                    paused: true,
                    pauseStartDate: from,
                    pauseEndDate: end,
                    daysPaused: Int32(from.distance(to: end)),
                    currentStreak: Int32(count),
                    message: "Streak paused until \(until)."
                        + (count > 0 ? " Your \(count)-day streak is safe!" : "")
                )
            )
        }
    }

    /// Dates that are over in every zone; of the others only the user's own says whether they are.
    func problems(of request: PauseCheckInsRequest) -> [ServiceError.Detail] {
        let earliest = Zone.utc.date(at: mutations.work.now()).advanced(by: -1)
        return FieldCheck.problems { check in
            check.require(request.resumeDate > earliest, "resume_date", "must be after today")
        }
    }

    private static func check(_ date: CalendarDate, from today: CalendarDate, _ policy: StreakPolicy) throws(ServiceError) {
        let (days, most) = (today.distance(to: date), policy.longestPause ?? 0)
        guard days > 0 else { throw .validation(field: "resume_date", "must be after today") }
        guard days <= most else {
            throw ServiceError(
                .invalidArgument,
                "PAUSE_TOO_LONG",
                "Pause duration cannot exceed \(most) days",
                details: [
                    .init(field: "max_pause_days", message: "\(most)"), .init(field: "requested_days", message: "\(days)"),
                ]
            )
        }
    }
}
