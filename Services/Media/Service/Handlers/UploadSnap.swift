internal import BlobStore
internal import Bus
internal import CommonAPI
internal import Crypto
internal import Database
internal import Images
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import StreaksAPI

extension MediaService {
    /// PH-1, PH-3. Plan (may it be posted at all?) → decode and store renditions → record the operation → drive it to its end.
    func uploadSnap(_ request: UploadSnapRequest, context: CallContext) async throws -> UploadSnapReply {
        let user = try context.requireUser()
        let receivedAt = clock.now()
        guard let photo = request.photo, photo.key.hasPrefix("incoming/") else {
            throw ServiceError.validation(field: "photo", "is required")
        }
        let incoming = try BlobKey(photo.key)
        do {
            let reply = try await post(request, photo, incoming, by: user, receivedAt: receivedAt, context)
            await forget(incoming)
            return reply
        } catch {
            await forget(incoming)
            throw error
        }
    }

    private func post(
        _ request: UploadSnapRequest,
        _ photo: CommonAPI.Blob,
        _ incoming: BlobKey,
        by user: UserID,
        receivedAt: Instant,
        _ context: CallContext
    ) async throws -> UploadSnapReply {
        let target = try SnapTarget(request.streakIDs)
        let keyHash = context.idempotencyKey.map { Array(SHA256.hash(data: Array($0.utf8))) }
        let requestHash = Self.hash(of: request, photo)
        if let keyHash, let first = try await firstAnswer(user, keyHash, requestHash, context) { return first }
        let plan = try await streaks.planContribution(
            PlanContributionRequest(
                userID: user.description,
                streakIDs: target.ids.map(\.description),
                receivedAt: receivedAt,
                capturedAt: request.capturedAt
            ),
            context: context
        )
        guard plan.outcomes.contains(where: { $0.refused == nil }) else {
            if let first = try await sameBytes(photo, plan, user, receivedAt) { return first }
            throw SnapRefusal.error(plan.outcomes.map { ($0.streakID, $0.refused ?? "") })
        }
        let renditions = try await images.renditions(of: try await blobs.read(incoming, limit: 10 << 20))
        let id: OperationID = ids.make()
        let folder = "snaps/\(user)/\(Zone.utc.date(at: receivedAt))/\(id)"
        let operation = SnapOperation(
            id: id,
            user: user,
            keyHash: keyHash,
            requestHash: requestHash,
            streaks: plan.outcomes.compactMap { StreakID($0.streakID) },
            caption: request.caption,
            promptID: request.promptID,
            capturedAt: request.capturedAt,
            receivedAt: receivedAt,
            sha256: Self.bytes(hex: photo.sha256),
            displayKey: folder + "/display.jpg",
            thumbnailKey: folder + "/thumbnail.jpg",
            width: Int32(renditions.width),
            height: Int32(renditions.height)
        )
        _ = try await blobs.put(try BlobKey(operation.displayKey), renditions.display)
        _ = try await blobs.put(try BlobKey(operation.thumbnailKey), renditions.thumbnail)
        do {
            try await operations.work.run(context) { [snaps] work in
                try await snaps.insert(operation, nextAttemptAt: SystemClock.now() + SnapOperations.lease, work.sql)
            }
        } catch let error as DatabaseError where error.isUniqueViolation("snap_operation_key") {
            // The same request on another connection was faster: its operation is the one to bring to the end (PF-4).
            for key in [operation.displayKey, operation.thumbnailKey] { try await blobs.delete(try BlobKey(key)) }
            guard let keyHash, let first = try await firstAnswer(user, keyHash, requestHash, context) else { throw error }
            return first
        }
        return try await operations.drive(operation, context: context)
    }

    /// PF-4: what the key stands for already; nil when it is new.
    private func firstAnswer(
        _ user: UserID,
        _ keyHash: [UInt8],
        _ requestHash: [UInt8],
        _ context: CallContext
    ) async throws -> UploadSnapReply? {
        guard let known = try await snaps.find(user: user, keyHash: keyHash) else { return nil }
        guard known.requestHash == requestHash else {
            throw ServiceError(
                .invalidArgument,
                "IDEMPOTENCY_KEY_REUSED",
                "This Idempotency-Key came before with a different request."
            )
        }
        switch known.state {
        case .done(let reply): return reply
        case .underWay(let operation): return try await operations.drive(operation, context: context)
        case .refused: throw ServiceError(.alreadyExists, "ALREADY_POSTED", "This snap was refused before.")
        }
    }

    /// PH-3: the same bytes for the same date and streaks get the first answer.
    private func sameBytes(
        _ photo: CommonAPI.Blob,
        _ plan: PlanContributionReply,
        _ user: UserID,
        _ receivedAt: Instant
    ) async throws -> UploadSnapReply? {
        let ids = plan.outcomes.compactMap { StreakID($0.streakID) }
        guard !ids.isEmpty, plan.outcomes.allSatisfy({ $0.refused == "ALREADY_POSTED" }) else { return nil }
        return try await snaps.repeated(
            user: user,
            sha256: Self.bytes(hex: photo.sha256),
            streaks: ids,
            since: receivedAt - .hours(24)
        )
    }

    private func forget(_ incoming: BlobKey) async {
        do { try await blobs.delete(incoming) } catch {
            // The collector of abandoned uploads deletes it later.
            logger.warning("an upload was not deleted", metadata: ["key": "\(incoming)", "error": "\(error)"])
        }
    }

    private static func hash(of request: UploadSnapRequest, _ photo: CommonAPI.Blob) -> [UInt8] {
        let parts = [photo.sha256, request.caption ?? "", "\(request.capturedAt?.microseconds ?? 0)"] + request.streakIDs
        return Array(SHA256.hash(data: Array(parts.joined(separator: "\u{1}").utf8)))
    }

    private static func bytes(hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension SnapTarget {
    /// The streaks to ask for; none means all.
    var ids: [StreakID] {
        switch self {
        case .all: []
        case .streaks(let ids): ids
        }
    }
}
