internal import Kernel
internal import MediaCore
internal import ServiceRuntime

extension PersonalData {
    /// Photos of habits. The erasure deletes rows; the job `photo_owners` deletes the blobs.
    static let habitPhotos = PersonalData([
        PersonalTable(
            "habit_photo",
            users: ["user_id": .delete],
            growth: .bounded("one for each date of a habit that has a completion; replaced ones for an hour"),
            references: ["id", "habit_id"],
            exports: [
                PersonalExport(
                    "habit_photos",
                    [
                        "id", "habit_id", "on_date", "width", "height", "created_at",
                        .made("photo_url", from: "id") { settings, now in
                            let links = try MediaLinks(settings)
                            return { user, id in
                                let id = try HabitPhotoID(parsing: id, field: "id")
                                return try links.link(try StoredPhoto.key(id, of: user, "display").description, now: now)
                            }
                        },
                    ]
                ) { "user_id = \($0) AND state = 1" }
            ]
        )
    ])
}
