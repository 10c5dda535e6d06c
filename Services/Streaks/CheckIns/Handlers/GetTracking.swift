internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksDomain

/// What a user reported for a date, and their weights and steps.
struct GetTracking: QueryHandler {
    let database: Database
    let profiles: ProfileReplica
    let clock: any Clock

    func handle(_ request: GetTrackingRequest, _ context: CallContext) async throws -> GetTrackingReply {
        let user = try context.requireUser()
        let today = (try await profiles.profile(user, context: context)?.zone ?? .utc).date(at: clock.now())
        let date = request.date ?? today
        let days = Int(request.days ?? 90)
        let entries = try await TrackingRepository.entries(of: user, in: today.advanced(by: 1 - days)...today, database)
        return GetTrackingReply(
            entry: try await TrackingRepository.entry(of: user, on: date, database),
            updates: try await TrackingRepository.updates(of: user, on: date, database),
            latestWeight: try await TrackingRepository.latestWeight(of: user, database),
            weights: entries.compactMap { entry in entry.weightKg.map { DatedWeight(date: entry.trackingDate, weightKg: $0) } },
            steps: entries.compactMap { entry in entry.steps.map { DatedSteps(date: entry.trackingDate, steps: $0) } },
            goals: TrackingGoals(
                steps: try await TrackingRepository.stepsGoal(of: user, database) ?? TrackedActivity.enoughSteps
            )
        )
    }
}
