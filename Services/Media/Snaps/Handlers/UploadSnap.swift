internal import BlobStore
internal import Bus
internal import CommonAPI
internal import Cryptography
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import MediaDomain
internal import ServiceRuntime
internal import StreaksAPI
internal import WorkPool

/// Posts a photo to streaks (PH-1, PH-3, AU-9): plan (does a streak take it?) → claim the operation → store renditions → drive it to its end.
struct UploadSnap: MutationHandler {
    let operations: SnapOperations
    let streaks: MutualClient
    let terms: Terms
    let uploads: IncomingUploads
    let mutations: Mutations
    let clock: any Clock
    let ids: any IDSource

    func handle(_ request: UploadSnapRequest, _ context: CallContext) async throws -> Once<UploadSnapReply> {
        let user = try context.requireUser()
        let receivedAt = clock.now()
        return try await uploads.use(request.photo, "photo") { photo, incoming in
            try await mutations.once(storedBy: operations) {
                try await post(request, photo, incoming, by: user, receivedAt: receivedAt, context)
            }
        }
    }

    func problems(of request: UploadSnapRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try SnapTarget(request.streakIDs) }
    }

    /// Repeats its steps until there is an answer: when the same upload was begun elsewhere, its answer is taken, and everything is asked again
    /// if it came to nothing.
    private func post(
        _ request: UploadSnapRequest,
        _ photo: CommonAPI.Blob,
        _ incoming: BlobKey,
        by user: UserID,
        receivedAt: Instant,
        _ context: CallContext
    ) async throws -> UploadSnapReply {
        try await terms.requireAccepted(by: user, context)
        let target = try SnapTarget(request.streakIDs)
        let keyHash = context.idempotencyKey.map { Array(SHA256.hash(data: $0.utf8)) }
        let requestHash = Self.hash(of: request, photo)
        while context.remaining > .zero {
            if let keyHash, let known = try await operations.repository.find(user: user, keyHash: keyHash) {
                // The prompt is no part of the hash: releases before this one did not compare it.
                guard known.operation.requestHash == requestHash, known.operation.promptID ?? "" == request.prompt ?? "" else {
                    throw ServiceError(
                        .invalidArgument,
                        "IDEMPOTENCY_KEY_REUSED",
                        "This Idempotency-Key came before with a different request."
                    )
                }
                if let first = try await operations.answer(of: known, context: context) { return first }
                continue
            }
            let plan = try await streaks.planContribution(
                PlanContributionRequest(
                    userID: user,
                    streakIDs: target.ids,
                    receivedAt: receivedAt,
                    capturedAt: request.capturedAt,
                    promptID: request.prompt
                ),
                context: context
            )
            let operation = try operation(request, photo, plan, by: user, receivedAt, keyHash, requestHash)
            guard plan.outcomes.contains(where: { $0.refused == nil }) else {
                if let first = try await firstAnswer(operation, context) { return first }
                // What is wrong with the file is said first: it would be wrong tomorrow too.
                _ = try await operations.images.renditions(of: try await uploads.bytes(of: incoming), for: WorkShare(of: user))
                throw SnapRefusal.error(plan.outcomes.map { ($0.streakID, $0.refused ?? "") })
            }
            if let same = try await sameContent(operation) {
                if let first = try await operations.answer(of: same, context: context) { return first }
            } else if let reply = try await operations.start(operation, from: incoming, context: context) {
                return reply
            }
        }
        throw ServiceError.unavailable("The first upload of this photo has not ended.")
    }

    /// PH-3: the answer of an upload of the same bytes for the same date that one of these streaks has taken; nil when there is none.
    private func firstAnswer(_ operation: SnapOperation, _ context: CallContext) async throws -> UploadSnapReply? {
        guard !operation.streaks.isEmpty,
            let earlier = try await operations.repository.find(
                user: operation.user,
                sha256: operation.sha256,
                date: operation.claimedDate,
                covering: operation.streaks
            ), let answer = try await operations.answer(of: earlier, context: context)
        else { return nil }
        let ids = Set(operation.streaks)
        return answer.streaks.contains { $0.accepted && ids.contains($0.streakID) } ? answer : nil
    }

    private func sameContent(_ operation: SnapOperation) async throws -> StoredOperation? {
        try await operations.repository.find(user: operation.user, contentHash: operation.contentHash)
    }

    private func operation(
        _ request: UploadSnapRequest,
        _ photo: CommonAPI.Blob,
        _ plan: PlanContributionReply,
        by user: UserID,
        _ receivedAt: Instant,
        _ keyHash: [UInt8]?,
        _ requestHash: [UInt8]
    ) throws -> SnapOperation {
        let id: OperationID = ids.make()
        let streaks = plan.outcomes.map(\.streakID)
        let content = [photo.sha256, plan.authorDate.description] + streaks.sorted().map(\.description)
        let folder = "snaps/\(user)/\(Zone.utc.date(at: receivedAt))/\(id)"
        return SnapOperation(
            id: id,
            user: user,
            keyHash: keyHash,
            requestHash: requestHash,
            contentHash: Array(SHA256.hash(data: content.joined(separator: "\n").utf8)),
            claimedDate: plan.authorDate,
            streaks: streaks,
            caption: request.caption,
            promptID: request.prompt,
            capturedAt: request.capturedAt,
            receivedAt: receivedAt,
            sha256: Self.bytes(hex: photo.sha256),
            displayKey: folder + "/display.jpg",
            thumbnailKey: folder + "/thumbnail.jpg",
            width: 0,
            height: 0
        )
    }

    private static func hash(of request: UploadSnapRequest, _ photo: CommonAPI.Blob) -> [UInt8] {
        let parts = [photo.sha256, request.caption ?? "", "\(request.capturedAt?.microseconds ?? 0)"] + request.streakIDs
        return Array(SHA256.hash(data: parts.joined(separator: "\u{1}").utf8))
    }

    private static func bytes(hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension UploadSnapRequest {
    /// An empty field of a form is none.
    fileprivate var prompt: String? { promptID.flatMap { $0.isEmpty ? nil : $0 } }
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
