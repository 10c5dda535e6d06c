internal import BlobStore
internal import Bus
internal import Kernel
internal import MediaAPI

/// Snaps for the moderators' queue, deleted ones of which a report has kept the copy too (SO-9).
struct ListReportedSnaps: QueryHandler {
    let snaps: SnapRepository
    let views: SnapViews

    func handle(_ request: ListReportedSnapsRequest, _: CallContext) async throws -> ListReportedSnapsReply {
        let found = try await snaps.reported(request.snapIDs)
        return ListReportedSnapsReply(
            snaps: try found.map { snap, isDeleted in
                ReportedSnap(snap: try views.view(snap, viewer: .moderators), deleted: isDeleted)
            }
        )
    }
}
