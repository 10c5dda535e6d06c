internal import Bus
internal import Kernel
internal import Replicas

/// The date that a user's own clock shows.
struct Today: Sendable {
    let profiles: ProfileReplica
    let clock: any Clock

    func date(of user: UserID, _ context: CallContext) async throws -> CalendarDate {
        (try await profiles.profile(user, context: context)?.zone ?? .utc).date(at: clock.now())
    }
}
