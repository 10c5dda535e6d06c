internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes milestone cards of purged accounts, and those that were never finished: first the pictures, then the row.
struct RemovedCards: Sendable {
    private static let batch = 100
    let cards: CardRepository
    let blobs: any BlobStore

    var job: Job {
        Job("removed_cards", every: .seconds(2)) { [cards, blobs] _ in
            // Leases run on the machine's clock, as everywhere.
            let removable = try await cards.removable(now: SystemClock.now(), limit: Self.batch)
            for card in removable {
                for key in [card.blobKey, card.previewKey] { try await blobs.delete(try BlobKey(key)) }
                try await cards.delete(card.id)
            }
            return removable.count
        }
    }
}
