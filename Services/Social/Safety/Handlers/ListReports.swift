internal import Bus
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// Reports of one status for moderators, newest first (SO-9), those of posts with their pictures. Each that is shown is noted for the audit log.
struct ListReports: QueryHandler {
    let reports: ReportRepository
    let profiles: ProfileReplica
    let places: PlacesClient
    let snaps: SnapsClient
    let work: UnitOfWorkFactory

    func handle(_ request: ListReportsRequest, _ context: CallContext) async throws -> ListReportsReply {
        let moderator = try context.requireAdmin()
        let status = Moderation.Status(rawValue: request.status.rawValue) ?? .pending
        // The default and the same status are one list, and an offset is a place in it.
        var list = request
        list.status = ReportStatus(rawValue: status.rawValue)
        list.offset = 0
        let page = try Page<PageCursor>(list, context)
        let found = try await reports.list(
            status,
            before: page.position,
            offset: Int(request.offset),
            limit: page.limit + 1
        )
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.createdAt, $0.id) }
        let owners = try await profiles.profiles(shown.map(\.owner), context: context)
        let posts = try await posts(of: shown, context)
        let photos = try await photos(of: shown, context)
        try await work.run(context) { work in
            for report in shown {
                try await work.emit(
                    SocialAdminActed(
                        actionID: work.ids.make(),
                        adminID: moderator,
                        kind: .readReport,
                        userID: report.owner,
                        detail: "report \(report.id)",
                        takenAt: work.now,
                        requestID: context.requestID
                    )
                )
            }
        }
        return ListReportsReply(
            reports: shown.map { report in
                var item = ReportItem(report, owners[report.owner])
                if report.subjectType == .post { item.post = posts[report.subject] }
                if report.subjectType == .photo { item.photo = photos[report.subject] }
                return item
            },
            meta: meta
        )
    }

    /// The photos of reports, as `posts`.
    private func photos(of reports: [StoredReport], _ context: CallContext) async throws -> [SubjectID: ReportedPhoto] {
        let ids = Set(reports.filter { $0.subjectType == .photo }.map { $0.subject.cast(to: Tag.Snap.self) })
        guard !ids.isEmpty else { return [:] }
        do {
            let reply = try await snaps.listReportedSnaps(ListReportedSnapsRequest(snapIDs: ids.sorted()), context: context)
            return Dictionary(
                reply.snaps.compactMap { found -> (SubjectID, ReportedPhoto)? in
                    guard let snap = found.snap else { return nil }
                    let photo = ReportedPhoto(
                        photoURL: snap.photoURL,
                        thumbnailURL: snap.thumbnailURL,
                        caption: snap.caption,
                        postedAt: snap.postedAt,
                        deleted: found.deleted
                    )
                    return (snap.id.cast(to: Tag.Subject.self), photo)
                }
            ) { first, _ in first }
        } catch let error as ServiceError where error.code == .unavailable || error.code == .deadlineExceeded {
            return [:]
        }
    }

    /// The posts of reports. While `media` cannot be asked the queue comes without them.
    private func posts(of reports: [StoredReport], _ context: CallContext) async throws -> [SubjectID: ReportedPost] {
        let ids = Set(reports.filter { $0.subjectType == .post }.map { $0.subject.cast(to: Tag.Post.self) })
        guard !ids.isEmpty else { return [:] }
        do {
            let reply = try await places.listReportedPosts(ListReportedPostsRequest(postIDs: Array(ids)), context: context)
            return Dictionary(reply.posts.map { ($0.id.cast(to: Tag.Subject.self), ReportedPost($0)) }) { first, _ in first }
        } catch let error as ServiceError where error.code == .unavailable || error.code == .deadlineExceeded {
            return [:]
        }
    }
}
