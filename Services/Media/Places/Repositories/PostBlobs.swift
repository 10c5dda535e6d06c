internal import Database
internal import Kernel
package import MediaCore

extension PlacesFeature {
    /// A post knows its renditions from before they are made until they are deleted.
    package static let blobs = BlobTable(
        name: "place_post",
        folder: "posts",
        hasOneOwner: true,
        idSegment: 2,
        known: { ids in "SELECT id FROM place_post WHERE id = ANY(\(ids))" },
        claims: { condition in
            """
            SELECT id, array_remove(ARRAY[concat('posts/', user_id, '/', id, '/display.jpg'),
                concat('posts/', user_id, '/', id, '/thumbnail.jpg'), 'posts/' || user_id || '/' || id || '/video.' || video_format], NULL)
            FROM place_post WHERE state = 1 AND \(condition)
            """
        }
    )

    /// A presigned upload has a row from before its file is sent. It need not be sent.
    package static let uploadBlobs = BlobTable(
        name: "place_upload",
        folder: "uploads",
        hasOneOwner: true,
        idSegment: 2,
        known: { ids in "SELECT id FROM place_upload WHERE id = ANY(\(ids))" },
        claims: { condition in "SELECT id, ARRAY[]::text[] FROM place_upload WHERE false AND \(condition)" }
    )
}
