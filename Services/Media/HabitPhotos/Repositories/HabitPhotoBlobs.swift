internal import Database
internal import Kernel
package import MediaCore

extension HabitPhotosFeature {
    /// Both renditions of the photo that a date shows.
    package static let blobs = BlobTable(
        name: "photo of a habit",
        folder: "habit-photos",
        hasOneOwner: true,
        idSegment: 2,
        known: { ids in "SELECT id FROM habit_photo WHERE id = ANY(\(ids))" },
        claims: { condition in
            """
            SELECT id, ARRAY[concat('habit-photos/', user_id, '/', id, '/display.jpg'),
                concat('habit-photos/', user_id, '/', id, '/thumbnail.jpg')]
            FROM habit_photo WHERE state = 1 AND \(condition)
            """
        }
    )
}
