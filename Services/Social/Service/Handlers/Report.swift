internal import Bus
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-8. Whose a photo is is stored with the report, so that moderators act on a person whatever becomes of the photo.
    func report(_ request: ReportRequest, context: CallContext) async throws -> ReportReply {
        let user = try context.requireUser()
        if let reply: ReportReply = try await mutations.replay(context, request) { return reply }
        let subject = try SubjectID(parsing: request.subjectID, field: "subject_id")
        let owner = try await owner(of: request.subjectType, subject, for: user, context)
        guard owner != user else { throw ServiceError(.invalidArgument, "CANNOT_REPORT_SELF", "You cannot report yourself.") }
        return try await mutations.run(context, request) { [self] work in
            try await reports.lockSubject(subject, work.sql)
            let report = StoredReport(
                id: work.ids.make(),
                reporter: user,
                subjectType: request.subjectType,
                subject: subject,
                owner: owner,
                reason: request.reason,
                description: request.description,
                reporters: try await reports.reporters(of: request.subjectType, subject, work.sql) + 1,
                status: .pending,
                createdAt: work.now
            )
            guard try await reports.insert(report, work.sql) else {
                throw ServiceError(.alreadyExists, "ALREADY_REPORTED", "You have reported this already.")
            }
            try await work.emit(
                ReportFiled(
                    reportID: report.id.description,
                    subjectType: report.subjectType,
                    subjectID: subject.description,
                    ownerID: owner.description,
                    reporters: report.reporters,
                    filedAt: work.now
                )
            )
            return ReportReply(reportID: report.id.description, status: .pending, createdAt: work.now)
        }
    }

    /// Whose the subject is.
    ///
    /// - Throws: `NOT_FOUND` when there is no such thing, or `user` may not know of it.
    private func owner(of type: ReportSubject, _ subject: SubjectID, for user: UserID, _ context: CallContext) async throws
        -> UserID
    {
        switch type {
        case .user:
            let owner = subject.cast(to: Tag.User.self)
            guard let profile = try await profiles.profile(owner, context: context), profile.status != .deleted else {
                throw ServiceError.notFound("user")
            }
            return owner
        case .photo:
            let reply = try await media.findSnapOwner(FindSnapOwnerRequest(snapID: subject.description), context: context)
            guard let owner = reply.userID.flatMap({ UserID($0) }) else { throw ServiceError.notFound("photo") }
            // A snap is shown to friends only: to be reported by those who are or were.
            if owner != user {
                let pair = try await friendships.find(user, owner, friendships.database)
                guard pair?.friendship.state == .accepted || pair?.friendship.state == .ended else {
                    throw ServiceError.notFound("photo")
                }
            }
            return owner
        default: throw ServiceError.notFound("post")
        }
    }
}
