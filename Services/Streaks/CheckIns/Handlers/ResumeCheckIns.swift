internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksDomain

/// A pause ends early (CI-4).
struct ResumeCheckIns: MutationHandler {
    let streaks: CheckInStreaks
    let mutations: Mutations

    func handle(_ request: ResumeCheckInsRequest, _ context: CallContext) async throws -> Once<ResumeCheckInsReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { [streaks] work in
            guard let stored = try await streaks.lockExisting(user, work) else { throw ServiceError.notPaused }
            let count = try await streaks.writer.apply(.resume, to: stored, work).change.state.count
            return ResumeCheckInsReply(
                data: ResumedCheckIns(
                    resumed: true,
                    streakPreserved: Int32(count),
                    message: "Welcome back!"
                        + (count > 0 ? " Your \(count)-day streak is still active." : "") + " Check in today!"
                )
            )
        }
    }
}

extension ServiceError {
    fileprivate static let notPaused = ServiceError(.failedPrecondition, "NOT_PAUSED", "This streak is not paused.")
}
