internal import Database
internal import Kernel
package import MediaCore

extension AvatarsFeature {
    /// Both renditions of the picture that is shown.
    package static let blobs = BlobTable(
        name: "avatar",
        folder: "avatars",
        hasOneOwner: true,
        idSegment: 2,
        known: { ids in "SELECT id FROM avatar WHERE id = ANY(\(ids))" },
        claims: { condition in
            """
            SELECT id, ARRAY[concat('avatars/', user_id, '/', id, '/512.jpg'), concat('avatars/', user_id, '/', id, '/128.jpg')]
            FROM avatar WHERE state = 1 AND \(condition)
            """
        }
    )
}
