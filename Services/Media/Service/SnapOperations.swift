internal import BlobStore
internal import Bus
internal import Kernel
internal import Logging
internal import MediaAPI
internal import MediaDomain
internal import Outbox
internal import StreaksAPI

/// Drives snaps to their end (D6, RC-4's pattern): stored → counted by `streaks` → recorded here. Each step may be repeated.
///
/// The operation row is written before `streaks` is asked, and `streaks` gives one operation id one answer. So whoever finds an unfinished
/// operation, the request or the sweeper after a crash, brings it to the same end.
struct SnapOperations: Sendable {
    /// How long a request has before the sweeper takes its operation up.
    static let lease = Interval.seconds(20)

    let snaps: SnapRepository
    let streaks: StreaksClient
    let work: UnitOfWorkFactory
    let links: MediaLinks
    let blobs: any BlobStore
    let clock: any Clock
    let logger: Logger

    /// Counts the snap and records it.
    ///
    /// - Returns: the reply of the upload.
    /// - Throws: the refusal when no streak takes it, and `UNAVAILABLE` when `streaks` is away; then the sweeper goes on.
    func drive(_ operation: SnapOperation, context: CallContext) async throws -> UploadSnapReply {
        let counted = try await streaks.recordContribution(
            RecordContributionRequest(
                operationID: operation.id.description,
                userID: operation.user.description,
                streakIDs: operation.streaks.map(\.description),
                receivedAt: operation.receivedAt,
                capturedAt: operation.capturedAt
            ),
            context: context
        )
        let accepted = counted.outcomes.filter { $0.refused == nil }
        guard !accepted.isEmpty else {
            try await refuse(operation, context)
            throw SnapRefusal.error(counted.outcomes.map { ($0.streakID, $0.refused ?? "") })
        }
        let reply = try reply(operation, counted)
        let isMine = try await work.run(context) { [snaps] work in
            guard try await snaps.end(operation.id, state: 2, reply: reply, now: work.now, work.sql) else { return false }
            let dates = accepted.compactMap { outcome -> (StreakID, CalendarDate)? in
                guard let streak = StreakID(outcome.streakID), let date = outcome.date.flatMap({ CalendarDate($0) }) else {
                    return nil
                }
                return (streak, date)
            }
            try await snaps.insert(operation, postedAt: operation.receivedAt, isOnTime: counted.onTime, dates: dates, work.sql)
            try await work.emit(
                SnapPosted(
                    snapID: operation.id.description,
                    userID: operation.user.description,
                    streakIDs: accepted.map(\.streakID),
                    postedAt: operation.receivedAt,
                    onTime: counted.onTime
                )
            )
            return true
        }
        if isMine { return reply }
        // The sweeper or a repeat was faster; its answer is the answer.
        guard case .done(let first)? = try await snaps.state(of: operation.id) else { throw ServiceError.internal }
        return first
    }

    /// Brings operations to their end whose request died. - Returns: how many were taken up.
    func sweep() async throws -> Int {
        // Leases run on the machine's clock: moving the development clock must not take a request's operation away.
        let now = SystemClock.now()
        let stranded = try await snaps.takeStranded(now: now, leaseUntil: now + Self.lease, limit: 20)
        for operation in stranded {
            do {
                _ = try await drive(operation, context: CallContext(deadline: now + .seconds(10)))
                logger.info("an unfinished snap was brought to its end", metadata: ["operation": "\(operation.id)"])
            } catch {
                logger.warning("an unfinished snap waits", metadata: ["operation": "\(operation.id)", "error": "\(error)"])
            }
        }
        return 0
    }

    private func refuse(_ operation: SnapOperation, _ context: CallContext) async throws {
        _ = try await work.run(context) { [snaps] work in
            try await snaps.end(operation.id, state: 3, reply: nil, now: work.now, work.sql)
        }
        for key in [operation.displayKey, operation.thumbnailKey] { try await blobs.delete(try BlobKey(key)) }
    }

    private func reply(_ operation: SnapOperation, _ counted: RecordContributionReply) throws -> UploadSnapReply {
        let now = clock.now()
        return UploadSnapReply(
            snap: MediaAPI.Snap(
                id: operation.id.description,
                userID: operation.user.description,
                photoURL: try links.link(operation.displayKey, now: now),
                thumbnailURL: try links.link(operation.thumbnailKey, now: now),
                width: operation.width,
                height: operation.height,
                caption: operation.caption,
                capturedAt: operation.capturedAt ?? operation.receivedAt,
                postedAt: operation.receivedAt,
                onTime: counted.onTime
            ),
            streaks: counted.outcomes.map { outcome in
                SnapOutcome(
                    streakID: outcome.streakID,
                    accepted: outcome.refused == nil,
                    reason: outcome.refused,
                    date: outcome.date,
                    dateCompleted: outcome.dateCompleted,
                    currentCount: outcome.currentCount,
                    longestCount: outcome.longestCount
                )
            }
        )
    }
}
