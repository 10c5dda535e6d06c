internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Brings the blob store in line with who blocks whom (PH-6): links that either was given to the other's photos die, for good: when the block
/// ends, only links made after that work (SO-7). Each step may be repeated.
struct HiddenPairs: Sendable {
    private static let batch = 50
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(30)

    let pairs: HiddenPairRepository
    let blobs: any BlobStore
    /// What links expire by.
    let clock: any Clock

    var job: Job {
        Job("hidden_pairs", every: .seconds(1)) { [pairs, blobs, clock] _ in
            // Leases run on the machine's clock, as everywhere.
            let now = SystemClock.now()
            let due = try await pairs.lockDue(now: now, until: now + Self.lease, limit: Self.batch)
            for pair in due {
                for (owner, viewer) in [(pair.one, pair.other), (pair.other, pair.one)] {
                    if pair.isBlocked {
                        try await blobs.hide(owner, from: viewer, at: clock.now())
                    } else if pair.isShown {
                        try await blobs.removeHidden(owner, from: viewer)
                    } else {
                        try await blobs.show(owner, to: viewer, linksLive: MediaLinks.lifetime)
                    }
                }
                if pair.isBlocked || pair.isShown {
                    try await pairs.done(pair)
                } else {
                    try await pairs.shown(pair, until: now + MediaLinks.lifetime)
                }
            }
            return due.count
        }
    }
}
