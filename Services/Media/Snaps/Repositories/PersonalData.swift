internal import Database
internal import Kernel
internal import MediaCore
internal import ServiceRuntime

extension PersonalData {
    /// Snaps. The erasure deletes rows; the job `photo_owners` deletes the blobs.
    static let snaps = PersonalData(
        [
            PersonalTable(
                "streak_snap",
                users: ["user_id": .erased(by: "`SnapRepository.hideAll`, by the index on the snap")],
                growth: .bounded(
                    "one for each date of a streak: a photo that keeps a streak is never refused for what is stored"
                ),
                references: ["streak_id", "snap_id"]
            ),
            PersonalTable(
                "snap",
                users: ["user_id": .delete],
                growth: .bounded("at least one date of a streak is new with each"),
                references: ["id"],
                exports: [snap]
            ),
            PersonalTable(
                "snap_operation",
                users: ["user_id": .delete],
                growth: .bounded("one for each upload; for 2 days"),
                references: ["id", "streak_ids"]
            ),
        ]
    ) { _ in ErasureSteps(before: { user, work in try await SnapRepository.hideAll(of: user, work.sql) }) }

    private static let snap = PersonalExport(
        "snaps",
        [
            "id", "caption", "prompt_id", "captured_at", "posted_at", "on_time", "width", "height",
            .value(
                "streak_ids",
                "(SELECT coalesce(jsonb_agg(s.streak_id ORDER BY s.streak_id), '[]') FROM streak_snap s WHERE s.snap_id = snap.id)"
            ),
            .made("photo_url", from: "display_key") { settings, now in
                let links = try MediaLinks(settings)
                return { _, key in try links.link(key, now: now) }
            },
        ]
    ) { "user_id = \($0) AND deleted_at IS NULL" }
}
