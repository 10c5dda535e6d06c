internal import AuthAPI
internal import Bus
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

/// Reports a user, photo or post (SO-8). The owner of a photo or post is stored with the report, so that moderators act on a user whatever
/// becomes of it. The third reporter of a post hides it, if their reports count enough (`ReportWeight`): the reply comes when it is.
struct Report: MutationHandler {
    let reports: ReportRepository
    let friendships: FriendshipRepository
    let blocks: BlockRepository
    let profiles: ProfileReplica
    let accounts: ProfilesClient
    let snaps: SnapsClient
    let places: PlacesClient
    let posts: PostReports
    let quotas: Quotas
    let mutations: Mutations

    func handle(_ request: ReportRequest, _ context: CallContext) async throws -> Once<ReportReply> {
        let user = try context.requireUser()
        if let known: Once<ReportReply> = try await mutations.known(context, request) { return known }
        let owner = try await owner(of: request.subjectType, request.subjectID, for: user, context)
        guard owner != user else { throw ServiceError(.invalidArgument, "CANNOT_REPORT_SELF", "You cannot report yourself.") }
        let isVerified = request.subjectType == .post ? try await hasVerifiedEmail(user, context) : false
        return try await mutations.once(context, request, protecting: request.subjectID) { [reports, posts, quotas] work in
            try await reports.lockSubject(request.subjectID, work.sql)
            let earlier = try await reports.reporters(of: request.subjectType, request.subjectID, work.sql)
            var report = StoredReport(
                id: work.ids.make(),
                reporter: user,
                subjectType: request.subjectType,
                subject: request.subjectID,
                owner: owner,
                reason: request.reason,
                description: request.description,
                reporters: earlier.count + 1,
                status: .pending,
                createdAt: work.now
            )
            if report.subjectType == .post { report.weight = ReportWeight.of(user, isVerified: isVerified, now: work.now) }
            let hasRoom = try await quotas.room(for: 1, in: .reports, of: user, work.sql) == 1
            guard try await reports.insert(report, work.sql) else {
                throw ServiceError(.alreadyExists, "ALREADY_REPORTED", "You have reported this already.")
            }
            guard hasRoom else { throw quotas.refusal(.reports) }
            try await work.emit(
                ReportFiled(
                    reportID: report.id,
                    subjectType: report.subjectType,
                    subjectID: report.subject,
                    ownerID: owner,
                    reporters: report.reporters,
                    filedAt: work.now,
                    reporterID: user
                )
            )
            if report.subjectType == .post { try await posts.reported(report, weight: earlier.weight + report.weight, work) }
            return ReportReply(reportID: report.id, status: .pending, createdAt: work.now)
        }
    }

    /// The owner of the subject.
    ///
    /// - Throws: `NOT_FOUND` when there is no such subject, or `user` may not know of it.
    private func owner(of type: ReportSubject, _ subject: SubjectID, for user: UserID, _ context: CallContext) async throws
        -> UserID
    {
        switch type {
        case .user:
            let owner = subject.cast(to: Tag.User.self)
            guard let profile = try await profiles.profile(owner, context: context), profile.status != .deleted,
                try await !isHidden(owner, from: user)
            else { throw ServiceError.notFound("user") }
            return owner
        case .photo:
            let reply = try await snaps.findSnapOwner(
                FindSnapOwnerRequest(snapID: subject.cast(to: Tag.Snap.self)),
                context: context
            )
            guard let owner = reply.userID else { throw ServiceError.notFound("photo") }
            // Snaps are shown to friends only, so friends and former friends may report them, also what they were shown by one who has blocked
            // them since.
            if owner != user {
                let pair = try await friendships.find(user, owner, friendships.database)
                guard pair?.friendship.state == .accepted || pair?.friendship.state == .ended else {
                    throw ServiceError.notFound("photo")
                }
            }
            return owner
        case .post:
            let reply = try await places.findPostOwner(
                FindPostOwnerRequest(postID: subject.cast(to: Tag.Post.self)),
                context: context
            )
            guard let owner = reply.userID, let profile = try await profiles.profile(owner, context: context),
                profile.status == .active, try await !isHidden(owner, from: user)
            else { throw ServiceError.notFound("post") }
            return owner
        default: throw ServiceError.notFound("subject")
        }
    }

    /// Whether the address of the one who reports is confirmed.
    private func hasVerifiedEmail(_ user: UserID, _ context: CallContext) async throws -> Bool {
        let reply = try await accounts.getSummaries(GetSummariesRequest(userIDs: [user]), context: context)
        return reply.profiles.first?.verifiedEmail.isEmpty == false
    }

    /// Whether a user blocks the one who reports, to whom they do not exist (SO-7).
    private func isHidden(_ owner: UserID, from user: UserID) async throws -> Bool {
        try await !blocks.blockers(of: user, among: [owner], blocks.database).isEmpty
    }
}
