internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// A check-in to a circle (TS-4). It counts for the circle's streak in this transaction; the caller's own check-in, and their other circles,
/// follow by event. Mood and energy go to the caller's tracking only.
struct CheckInToCircle: MutationHandler {
    let circles: CircleReplica
    let checkIns: TeamCheckIns
    let mutations: Mutations

    func handle(_ request: CheckInToCircleRequest, _ context: CallContext) async throws -> Once<CircleCheckInReply> {
        let user = try context.requireUser()
        // Before anything is waited for (SD-1).
        let received = mutations.work.now()
        if let known: Once<CircleCheckInReply> = try await mutations.known(context, request) { return known }
        let circle = try await circles.circle(request.circleID, of: user, context)
        return try await mutations.once(context, request) { [checkIns] work in
            let outcome = try await checkIns.checkIn(
                user,
                to: circle.id,
                receivedAt: received,
                capturedAt: request.checkInTime,
                work
            )
            let operation: OperationID = work.ids.make()
            let entry = StoredCheckIn(
                id: operation,
                user: user,
                date: outcome.date,
                at: received,
                isToCircle: true,
                streakCount: nil
            )
            try await FeedRepository.add(entry, to: [circle.id], ids: [operation], work.sql)
            try await work.emit(
                CircleCheckedIn(
                    userID: user,
                    circleID: circle.id,
                    operationID: operation,
                    receivedAt: received,
                    checkInTime: request.checkInTime,
                    date: outcome.date,
                    mood: request.mood,
                    energy: request.energy
                )
            )
            return CircleCheckInReply(circle.id, outcome, receivedAt: received)
        }
    }
}

extension CircleCheckInReply {
    fileprivate init(_ circle: CircleID, _ outcome: TeamCheckIns.Outcome, receivedAt: Instant) {
        let effects = outcome.change?.change.effects ?? []
        let milestone = effects.compactMap { effect -> Int? in
            if case .milestone(let count, _, _, _) = effect { return count }
            return nil
        }.max()
        self.init(
            circleID: circle,
            date: outcome.date,
            counted: outcome.isCounted,
            dateCompleted: outcome.team?.isReached ?? false,
            currentCount: Int32(outcome.count),
            contributed: Int32(outcome.team?.present ?? 0),
            quorum: Int32(outcome.team?.quorum ?? 2),
            milestone: Int32(milestone ?? 0),
            capturedAtIgnored: outcome.isCaptureIgnored,
            serverTime: receivedAt
        )
    }
}
