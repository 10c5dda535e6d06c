internal import BlobStore
internal import Bus
internal import Images
internal import Kernel
internal import Logging
internal import MediaAPI
internal import MediaCore
internal import MediaDomain
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI
internal import WorkPool

/// Drives snaps to their end (D6, RC-4's pattern): claimed → stored → counted by `streaks` → recorded here. Each step may be repeated.
///
/// The operation's row comes first, and `streaks` gives one operation id one answer. So the request, a repeat of it and, after a crash, the
/// sweeper all bring an unfinished operation to the same end.
struct SnapOperations: OperationStore {
    /// How long the maker of renditions, and then the request, has before others take its operation up.
    static let lease = Interval.seconds(15)
    /// How often a repeat checks whether the first has made its renditions.
    private static let pollInterval = Duration.milliseconds(20)
    /// Least time of a request that waiting makes sense in.
    private static let leastTime = Interval.milliseconds(200)

    let repository: SnapOperationRepository
    let snaps: SnapRepository
    let streaks: MutualClient
    let work: UnitOfWorkFactory
    let links: MediaLinks
    let blobs: any BlobStore
    let images: ImageProcessor
    let clock: any Clock
    let logger: Logger

    /// Claims the operation, stores the photo's renditions and drives it to its end.
    ///
    /// - Returns: the reply of the upload; nil when the same was claimed before, or another has abandoned it.
    func start(_ operation: SnapOperation, from incoming: BlobKey, context: CallContext) async throws -> UploadSnapReply? {
        guard try await repository.claim(operation, until: SystemClock.now() + Self.lease) else { return nil }
        var made = operation
        do {
            let renditions = try await images.renditions(
                of: try await blobs.readUpload(incoming),
                for: WorkShare(of: operation.user, .urgent)
            )
            (made.width, made.height) = (Int32(renditions.width), Int32(renditions.height))
            _ = try await blobs.put(try BlobKey(operation.displayKey), renditions.display)
            _ = try await blobs.put(try BlobKey(operation.thumbnailKey), renditions.thumbnail)
            guard try await repository.begin(made, until: SystemClock.now() + Self.lease) else {
                try await deleteRenditions(of: operation)
                return nil
            }
        } catch {
            try await abandon(operation)
            // Nothing is written for it any more: of a refused photo nothing is kept (PH-1).
            try await repository.delete([operation.id])
            throw error
        }
        return try await drive(made, context: context)
    }

    /// The answer of an operation that another request has begun, waiting for its renditions and driving it on if need be.
    ///
    /// - Returns: nil when it has come to nothing, so that everything is to be asked again.
    /// - Throws: the refusal when no streak takes it.
    func answer(of stored: StoredOperation, context: CallContext) async throws -> UploadSnapReply? {
        var current = stored
        while true {
            switch current.standing {
            case .done(let reply): return reply
            case .underWay: return try await drive(current.operation, context: context)
            case .void: return nil
            case .beingMade(let lease):
                if lease <= SystemClock.now() {
                    try await abandon(current.operation)
                    return nil
                }
                guard context.remaining > Self.leastTime else {
                    throw ServiceError.unavailable("The first upload of this photo has not ended.")
                }
                try await Task.sleep(for: Self.pollInterval)
            }
            guard let next = try await repository.find(stored.operation.id) else { return nil }
            current = next
        }
    }

    /// Counts the snap and records it.
    ///
    /// - Returns: the reply of the upload.
    /// - Throws: the refusal when no streak takes it, and `UNAVAILABLE` when `streaks` is away; then the sweeper goes on.
    private func drive(_ operation: SnapOperation, context: CallContext) async throws -> UploadSnapReply {
        let counted = try await streaks.recordContribution(
            RecordContributionRequest(
                operationID: operation.id,
                userID: operation.user,
                streakIDs: operation.streaks,
                receivedAt: operation.receivedAt,
                capturedAt: operation.capturedAt
            ),
            context: context
        )
        let accepted = counted.outcomes.filter { $0.refused == nil }
        guard !accepted.isEmpty else {
            _ = try await repository.refuse(operation.id, now: clock.now())
            try await deleteRenditions(of: operation)
            throw SnapRefusal.error(counted.outcomes.map { ($0.streakID, $0.refused ?? "") })
        }
        let reply = try reply(operation, counted)
        if try await record(operation, counted, reply, context) { return reply }
        // The sweeper or a repeat was faster; its answer is the answer.
        guard case .done(let first)? = try await repository.find(operation.id)?.standing else { throw ServiceError.internal }
        return first
    }

    /// The snap, its event and the answer in one transaction. - Returns: false when another has ended the operation.
    private func record(
        _ operation: SnapOperation,
        _ counted: RecordContributionReply,
        _ reply: UploadSnapReply,
        _ context: CallContext
    ) async throws -> Bool {
        let dates = counted.outcomes.filter { $0.refused == nil }.compactMap { outcome in
            outcome.date.map { (outcome.streakID, $0) }
        }
        return try await work.run(context) { [repository, snaps] work in
            guard try await repository.finish(operation.id, reply: reply, now: work.now, work.sql) else { return false }
            let captured = counted.capturedAt ?? operation.receivedAt
            try await snaps.insert(operation, capturedAt: captured, isOnTime: counted.onTime, dates: dates, work.sql)
            try await work.emit(
                SnapPosted(
                    snapID: operation.id.cast(to: Tag.Snap.self),
                    userID: operation.user,
                    streakIDs: dates.map(\.0),
                    postedAt: operation.receivedAt,
                    onTime: counted.onTime
                )
            )
            return true
        }
    }

    /// Brings operations to their end whose request died. - Returns: 0: what it took up is not due again at once.
    func sweep() async throws -> Int {
        // Leases run on the machine's clock: moving the development clock must not take a request's operation away.
        let now = SystemClock.now()
        for stored in try await repository.lockStranded(now: now, until: now + Self.lease, limit: 20) {
            let id = stored.operation.id
            do {
                if case .beingMade = stored.standing {
                    try await abandon(stored.operation)
                } else {
                    _ = try await drive(stored.operation, context: CallContext(deadline: now + .seconds(10)))
                }
                logger.info("an unfinished snap was brought to its end", metadata: ["operation": "\(id)"])
            } catch {
                logger.warning("an unfinished snap waits", metadata: ["operation": "\(id)", "error": "\(error)"])
            }
        }
        return 0
    }

    /// The row first: the maker of the renditions learns from it that they are not wanted. What it writes after this, and does not live to
    /// delete, is deleted with the row (`OldOperations`).
    private func abandon(_ operation: SnapOperation) async throws {
        guard try await repository.abandon(operation.id, now: clock.now()) else { return }
        try await deleteRenditions(of: operation)
    }

    /// Deletes what the operation has stored.
    func deleteRenditions(of operation: SnapOperation) async throws {
        for key in [operation.displayKey, operation.thumbnailKey] { try await blobs.delete(try BlobKey(key)) }
    }

    private func reply(_ operation: SnapOperation, _ counted: RecordContributionReply) throws -> UploadSnapReply {
        let now = clock.now()
        return UploadSnapReply(
            snap: MediaAPI.Snap(
                id: operation.id.cast(to: Tag.Snap.self),
                userID: operation.user,
                photoURL: try links.link(operation.displayKey, now: now),
                thumbnailURL: try links.link(operation.thumbnailKey, now: now),
                width: operation.width,
                height: operation.height,
                caption: operation.caption,
                capturedAt: counted.capturedAt ?? operation.receivedAt,
                postedAt: operation.receivedAt,
                onTime: counted.onTime,
                promptID: operation.promptID
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
            },
            capturedAtIgnored: counted.capturedAtIgnored,
            serverTime: operation.receivedAt
        )
    }
}
