internal import Kernel
internal import MediaAPI
internal import Outbox
internal import SocialAPI
internal import SocialDomain

/// What reports and decisions make of posts and of those who write them (SO-8, SO-9). The subject is locked.
struct PostReports: Sendable {
    let reports: ReportRepository

    /// What a decision has changed.
    struct Effect: Sendable {
        var otherReporters: [UserID] = []
        /// The post was hidden, and is shown again.
        var isRestored = false
    }

    /// A user has reported a post.
    ///
    /// - Parameters:
    ///   - report: with the number of its reporters since moderators last decided.
    ///   - weight: what their reports count together.
    func reported(_ report: StoredReport, weight: Int32, _ work: UnitOfWork) async throws {
        try await change(report.subject.cast(to: Tag.Post.self), of: report.owner, work) { standing in
            standing.reported(reporters: report.reporters, weight: weight, now: work.now)
        }
    }

    /// Moderators have acted on a report of a post: this answers all its pending reports.
    func decided(_ action: StoredAction, status: Moderation.Status, on report: StoredReport, _ work: UnitOfWork) async throws
        -> Effect
    {
        let others = try await PostStandingRepository.answerOthers(report, like: action, status: status, ids: work.ids, work.sql)
        let (before, after) = try await change(report.subject.cast(to: Tag.Post.self), of: report.owner, work) { standing in
            standing.decided(action.action, now: work.now)
        }
        let reporters = Set(others).subtracting(report.reporter.map { [$0] } ?? [])
        return Effect(
            otherReporters: reporters.sorted { $0.description < $1.description },
            isRestored: before.visibility == .hidden && after.visibility == .shown
        )
    }

    /// A machine has refused a picture, or wants people to look at it (PL-5).
    func screened(_ event: PostScreened, _ work: UnitOfWork) async throws {
        let isRejected = event.outcome == .rejected
        var report = StoredReport(
            id: work.ids.make(),
            reporter: nil,
            subjectType: .post,
            subject: event.postID.cast(to: Tag.Subject.self),
            owner: event.userID,
            reason: event.outcome == .unreachable ? .other : .inappropriate,
            description: nil,
            reporters: 0,
            status: isRejected ? .actioned : .pending,
            createdAt: event.screenedAt ?? work.now
        )
        report.source = event.outcome == .unreachable ? .unreachable : .labels
        report.labels = event.labels.map { ReportLabel(name: $0.name, confidence: $0.confidence) }
        if isRejected {
            report.action = StoredAction(id: work.ids.make(), action: .remove, moderator: nil, takenAt: report.createdAt)
        }
        _ = try await reports.insert(report, work.sql)
        if isRejected { try await flagOften(event.userID, work) }
    }

    @discardableResult
    private func change(
        _ post: PostID,
        of owner: UserID,
        _ work: UnitOfWork,
        _ body: (inout PostStanding) -> Void
    ) async throws -> (before: PostStanding, after: PostStanding) {
        let before = try await PostStandingRepository.standing(of: post, work.sql)
        var after = before
        body(&after)
        guard after != before else { return (before, after) }
        try await PostStandingRepository.store(after, of: post, by: owner, work.sql)
        try await work.emit(
            PostStandingChanged(
                postID: post,
                version: after.version,
                hidden: after.visibility != .shown,
                removed: after.visibility == .removed
            )
        )
        if before.visibility == .shown { try await flagOften(owner, work) }
        return (before, after)
    }

    /// Puts a user whose posts are hidden often into the queue.
    private func flagOften(_ owner: UserID, _ work: UnitOfWork) async throws {
        try await reports.lockOwner(owner, work.sql)
        let since = work.now - PostStanding.oftenWithin
        let count = try await PostStandingRepository.hiddenPosts(of: owner, since: since, work.sql)
        guard count >= PostStanding.often else { return }
        var report = StoredReport(
            id: work.ids.make(),
            reporter: nil,
            subjectType: .user,
            subject: owner.cast(to: Tag.Subject.self),
            owner: owner,
            reason: .other,
            description: "\(count) posts were hidden, removed or refused within 90 days.",
            reporters: 0,
            status: .pending,
            createdAt: work.now
        )
        report.source = .oftenHidden
        _ = try await reports.insert(report, work.sql)
    }
}
