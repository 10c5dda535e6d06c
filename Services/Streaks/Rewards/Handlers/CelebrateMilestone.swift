internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Notes that a milestone's celebration was seen, once (CI-5). It must have been reached: its badge says so.
struct CelebrateMilestone: MutationHandler {
    let mutations: Mutations

    func handle(_ request: CelebrateMilestoneRequest, _ context: CallContext) async throws -> Once<CelebrateMilestoneReply> {
        let user = try context.requireUser()
        guard let count = Self.count(of: request.milestoneType) else { throw ServiceError.notFound("milestone") }
        return try await mutations.once(context, request) { work in
            let badges = try await RewardRepository.badges(of: user, work.sql)
            guard badges.keys.contains(where: { $0.count == count }) else {
                throw ServiceError(.failedPrecondition, "MILESTONE_NOT_REACHED", "This milestone has not been reached yet.")
            }
            guard let first = try await UnlockRepository.celebrate(count, by: user, at: work.now, work.sql) else {
                throw ServiceError.internal
            }
            return CelebrateMilestoneReply(milestoneType: request.milestoneType, celebratedAt: first)
        }
    }

    /// `day_7` is the milestone of 7; nil for what is none.
    private static func count(of type: String) -> Int? {
        Milestones.checkIn.counts.first { "day_\($0)" == type }
    }
}
