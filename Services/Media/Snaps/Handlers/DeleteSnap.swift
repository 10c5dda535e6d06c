internal import Bus
internal import Kernel
internal import MediaAPI
internal import ServiceRuntime

/// Deletes a snap of the caller's own (PH-4). It is not shown or served any more at once; the job `deleted_snaps` deletes what there is of it.
struct DeleteSnap: MutationHandler {
    let mutations: Mutations

    func handle(_ request: DeleteSnapRequest, _ context: CallContext) async throws -> Once<DeleteSnapReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            let deletedAt = try await SnapRepository.markDeleted(
                request.photoID,
                of: user,
                now: work.now,
                // Due times run on the machine's clock.
                eraseAt: SystemClock.now() + DeletedSnaps.wait,
                work.sql
            )
            guard let deletedAt else { throw ServiceError.notFound("photo") }
            return DeleteSnapReply(photoID: request.photoID, deletedAt: deletedAt)
        }
    }
}
