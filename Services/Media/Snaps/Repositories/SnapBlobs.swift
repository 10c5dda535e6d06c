internal import Database
internal import Kernel
package import MediaCore

extension SnapsFeature {
    /// An operation knows its renditions from before they are made until they are deleted; a snap from then on.
    package static let blobs = BlobTable(
        name: "snap",
        folder: "snaps",
        hasOneOwner: true,
        idSegment: 3,
        known: { ids in
            "SELECT id FROM snap WHERE id = ANY(\(ids)) UNION SELECT id FROM snap_operation WHERE id = ANY(\(ids))"
        },
        claims: { condition in
            """
            SELECT id, ARRAY[display_key, thumbnail_key] FROM (
                SELECT id, display_key, thumbnail_key FROM snap WHERE deleted_at IS NULL UNION
                SELECT id, display_key, thumbnail_key FROM snap_operation WHERE state = 1) AS needed WHERE \(condition)
            """
        }
    )
}
