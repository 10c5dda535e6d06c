internal import Kernel
internal import MediaCore
internal import ServiceRuntime

extension Quota {
    /// Of rows there is one for each date of a habit that has a completion; replaced ones are kept for an hour.
    static let habitPhotos = Quota(
        "habit_photo",
        megabytes: 20_000,
        in: "file_bytes",
        what: "MB of photos of habits",
        remedy: "Delete photos of habits; they make room a few minutes later."
    )
}

extension PersonalData {
    /// Photos of habits. The erasure deletes rows; the job `photo_owners` deletes the blobs.
    static let habitPhotos = PersonalData([
        PersonalTable(
            "habit_photo",
            users: ["user_id": .delete],
            growth: .quota(.habitPhotos),
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
