internal import Kernel
internal import MediaCore
internal import Outbox
internal import ServiceRuntime

/// Gives the avatars of users who have blocked another a new link: the other may have kept the one before (SO-7). Each step may be repeated.
struct MovedAvatars: Sendable {
    private static let batch = 20
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(60)

    let stale: StaleAvatarRepository
    let avatars: Avatars
    let work: UnitOfWorkFactory

    var job: Job {
        Job("moved_avatars", every: .seconds(1)) { [stale, avatars, work] _ in
            // Due times run on the machine's clock, as leases do.
            let now = SystemClock.now()
            let due = try await stale.lockDue(now: now, until: now + Self.lease, limit: Self.batch)
            for entry in due {
                try await avatars.move(of: entry.user, work)
                try await stale.done(entry)
            }
            return due.count
        }
    }
}
