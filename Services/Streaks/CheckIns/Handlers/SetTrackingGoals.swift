internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI

/// From how many steps a log counts as a check-in.
struct SetTrackingGoals: MutationHandler {
    let mutations: Mutations

    func handle(_ request: SetTrackingGoalsRequest, _ context: CallContext) async throws -> Once<TrackingGoals> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            try await TrackingRepository.setStepsGoal(request.steps, of: user, work.sql)
            return TrackingGoals(steps: request.steps)
        }
    }
}
