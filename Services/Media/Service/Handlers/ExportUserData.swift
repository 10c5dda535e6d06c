internal import Bus
internal import CommonAPI
internal import FoundationEssentials
internal import Kernel
internal import MediaAPI

extension MediaService {
    /// AU-10: what was posted, with links to the photos that live as long as any (24 h), and the avatar.
    func exportUserData(_ request: ExportUserDataRequest, context _: CallContext) async throws -> ExportUserDataReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let now = clock.now()
        let snaps = try await OwnerRepository(database: snaps.database).snaps(of: user).map { snap in
            Part.Snap(
                id: snap.id,
                caption: snap.caption,
                prompt_id: snap.promptID,
                captured_at: snap.capturedAt,
                posted_at: snap.postedAt,
                on_time: snap.isOnTime,
                width: snap.width,
                height: snap.height,
                streak_ids: snap.streakIDs,
                photo_url: try links.link(snap.displayKey, now: now)
            )
        }
        let avatar = try await avatars.repository.shown(of: user).map { links.avatar(try $0.large) }
        let json = try JSONEncoder().encode(Part(snaps: snaps, avatar_url: avatar))
        return ExportUserDataReply(json: String(decoding: json, as: UTF8.self))
    }

    /// In the API's own names.
    private struct Part: Encodable {
        let snaps: [Snap]
        let avatar_url: String?

        struct Snap: Encodable {
            let id: String
            let caption: String?
            let prompt_id: String?
            let captured_at: String
            let posted_at: String
            let on_time: Bool
            let width: Int32
            let height: Int32
            let streak_ids: [String]
            let photo_url: String
        }
    }
}
