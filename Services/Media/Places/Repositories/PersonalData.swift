internal import Kernel
internal import MediaCore
internal import MediaDomain
internal import ServiceRuntime
internal import Videos

extension PersonalData {
    /// Posts, votes and cities. The erasure deletes rows, and a trigger subtracts the votes; the job `photo_owners` deletes the blobs.
    static let places = PersonalData(
        [
            PersonalTable(
                "place_report",
                users: ["user_id": .delete],
                growth: .bounded("one for each report of a post, of which social's quota allows so many"),
                references: ["post_id"]
            ),
            PersonalTable(
                "place_vote",
                users: ["user_id": .delete],
                growth: .quota(.votes),
                references: ["post_id"],
                exports: [vote]
            ),
            PersonalTable(
                "place_post_text",
                users: ["user_id": .delete],
                growth: .bounded("one for each post"),
                references: ["post_id"]
            ),
            PersonalTable(
                "place_post",
                users: ["user_id": .delete],
                growth: .quotas([.posts, .postFiles]),
                references: ["id", "upload_id"],
                exports: [post]
            ),
            PersonalTable(
                "place_upload",
                users: ["user_id": .delete],
                growth: .bounded("10 that are not used; for a day"),
                references: ["id", "post_id"],
                exports: [upload]
            ),
            PersonalTable(
                "place_removed_post",
                users: ["user_id": .delete],
                growth: .bounded("one for each removed post; for 30 days"),
                references: ["id"]
            ),
            PersonalTable("place_city", users: ["user_id": .delete], growth: .bounded("the newest 10"), exports: [city]),
            PersonalTable("place_favorite_city", users: ["user_id": .delete], growth: .perUser, exports: [favorite]),
        ],
        impersonal: [
            "place_vote_tally": "how many votes a post has more or fewer, not whose",
            "place_past_score": "how high posts stood in lists",
            "place_tile": "how many posts an area has, not whose",
            "place_tile_change": "where a post came into view or went, not whose",
            "place_area_change": "how often the posts of an area changed, not whose",
            "place_cell": "that a cell of 600 m has or had a post",
            "place_patch": "which cells lie near each other",
        ]
    ) { _ in placeSteps }

    /// The votes of others on the user's posts go with these.
    static let placeSteps = ErasureSteps(before: { user, work in
        try await PostRepository.deleteVotes(onPostsOf: user, work.sql)
    })

    private static let vote = PersonalExport(
        "post_votes",
        ["post_id", .value("vote", "CASE vote WHEN 1 THEN 'up' ELSE 'down' END"), "voted_at"]
    ) { "user_id = \($0)" }

    private static let post = PersonalExport(
        "posts",
        [
            "id", "caption", "latitude", "longitude", "city", "country", .value("precision", "position_precision"), "captured_at",
            "posted_at",
            "width",
            "height",
            .made("photo_url", from: "id") { settings, now in
                let links = try MediaLinks(settings)
                return { user, id in
                    let key = try PostBlobKeys(user: user, id: try PostID(parsing: id, field: "id")).display
                    return try links.link(key.description, now: now)
                }
            },
            .made("video_url", from: "id::text || ' ' || video_format") { settings, now in
                let links = try MediaLinks(settings)
                return { user, text in
                    let (id, format) = (String(text.prefix(36)), StoredVideoFormat(rawValue: String(text.dropFirst(37))))
                    let keys = PostBlobKeys(user: user, id: try PostID(parsing: id, field: "id"))
                    return try links.link(try keys.video(format ?? .mp4).description, now: now)
                }
            },
        ]
    ) { "user_id = \($0) AND state = 1" }

    private static let upload = PersonalExport(
        "post_uploads",
        ["id", "size", .value("type", "content_type"), "sha256", "post_id", .value("deleted_at", "due_at")]
    ) { "user_id = \($0)" }

    private static let city = PersonalExport("saved_cities", ["name", "latitude", "longitude"]) { "user_id = \($0)" }

    private static let favorite = PersonalExport("favorite_city", ["name", "latitude", "longitude"]) { "user_id = \($0)" }
}

extension Quota {
    /// A caption of 500 characters has at most 6,400 bytes.
    static let posts = Quota(
        "place_post",
        rows: 20_000,
        rowBytes: 7_000,
        what: "posts",
        remedy: "Delete posts that you do not need any more; they make room a few minutes later."
    )
    static let postFiles = Quota(
        "place_post",
        megabytes: 20_000,
        in: "file_bytes",
        what: "MB of photos and videos of posts",
        remedy: posts.remedy
    )
    static let votes = Quota(
        "place_vote",
        rows: 200_000,
        rowBytes: 100,
        what: "votes",
        remedy: "Take back votes that you do not need any more."
    )
}
