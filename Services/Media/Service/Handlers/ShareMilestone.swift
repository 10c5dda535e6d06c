internal import Bus
internal import Kernel
internal import MediaAPI

extension MediaService {
    /// MC-2: where a card was shared, and when.
    func markMilestoneShared(_ request: MarkMilestoneSharedRequest, context: CallContext) async throws -> MarkMilestoneSharedReply
    {
        let user = try context.requireUser()
        let id = try MilestoneCardID(parsing: request.milestoneID, field: "milestone_id")
        let now = clock.now()
        guard try await cards.repository.share(id, by: user, on: request.platform, at: now) else {
            throw ServiceError.notFound("milestone card")
        }
        return MarkMilestoneSharedReply(milestoneID: id.description, platform: request.platform, sharedAt: now)
    }

    /// MC-2: either of the two withdraws the page, because it names both.
    func revokeMilestoneShare(_ request: RevokeMilestoneShareRequest, context: CallContext) async throws
        -> RevokeMilestoneShareReply
    {
        let user = try context.requireUser()
        let id = try MilestoneCardID(parsing: request.milestoneID, field: "milestone_id")
        guard try await cards.repository.withdraw(id, by: user) else { throw ServiceError.notFound("milestone card") }
        return RevokeMilestoneShareReply(milestoneID: id.description)
    }
}
