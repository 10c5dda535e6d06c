internal import Database
internal import Kernel
package import MediaCore

extension CardsFeature {
    /// A card may belong to two, so the job `removed_cards` deletes its picture. The preview of its page may be absent.
    package static let blobs = BlobTable(
        name: "milestone_card",
        folder: "cards",
        hasOneOwner: false,
        idSegment: 2,
        known: { ids in "SELECT id FROM milestone_card WHERE id = ANY(\(ids))" },
        claims: { condition in "SELECT id, ARRAY[blob_key] FROM milestone_card WHERE state = 1 AND \(condition)" }
    )
}
