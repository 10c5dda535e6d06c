internal import Bus
internal import Kernel
internal import MediaAPI
internal import Replicas
internal import SocialAPI
internal import SocialCore

extension Block {
    /// A block as the blocking user sees it.
    ///
    /// - Parameter isHidden: whether the blocked user blocks them too, as pairs from before 0.2 may: the name and picture of a user who blocks
    ///   are not shown.
    init(_ block: StoredBlock, _ blocked: Profile, isHidden: Bool) {
        self.init(
            blockID: block.id,
            user: isHidden ? .unavailable(blocked.userID) : blocked.summary,
            createdAt: block.changedAt
        )
    }
}

extension ReportItem {
    /// A report as moderators see it; without the names of an owner who has no profile.
    init(_ report: StoredReport, _ owner: Profile?) {
        self.init(
            reportID: report.id,
            subjectType: report.subjectType,
            subjectID: report.subject,
            reason: report.reason,
            description: report.description,
            status: ReportStatus(rawValue: report.status.rawValue),
            createdAt: report.createdAt,
            reporterID: report.reporter,
            owner: owner?.summary ?? .unavailable(report.owner),
            reporters: report.reporters,
            action: report.action.map { action in
                ModerationRecord(
                    actionID: action.id,
                    action: ModerationAction(rawValue: action.action.rawValue),
                    moderatorID: action.moderator,
                    takenAt: action.takenAt,
                    until: action.until,
                    note: action.note
                )
            },
            source: report.source,
            labels: report.labels
        )
    }
}

extension ReportedPost {
    /// A post as moderators see it.
    init(_ post: Post) {
        self.init(
            photoURL: post.photoURL,
            thumbnailURL: post.thumbnailURL,
            caption: post.caption,
            latitude: post.latitude,
            longitude: post.longitude,
            postedAt: post.postedAt,
            hidden: post.hidden
        )
    }
}
