internal import Bus
internal import CommonAPI
internal import FoundationEssentials
internal import Kernel
internal import Replicas

/// What a user has posted, with links to the photos that live as long as any (24 h), the avatar and the cards (AU-10).
struct ExportUserData: QueryHandler {
    let snaps: SnapRepository
    let avatars: AvatarRepository
    let cards: CardRepository
    let blocks: BlockReplica
    let links: MediaLinks
    let clock: any Clock

    func handle(_ request: ExportUserDataRequest, _: CallContext) async throws -> ExportUserDataReply {
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
        let avatar = try await avatars.shown(of: user).map { links.avatar(try $0.large) }
        let stored = try await cards.cards(of: user)
        // A card shows both people: without its picture while one blocks the other (SO-7).
        let hidden = try await blocks.hidden(from: user, among: stored.flatMap(\.people))
        let made = try stored.map { card in
            Part.Card(
                id: card.id.description,
                streak_id: card.streak.description,
                milestone: card.milestone,
                style: card.style.name,
                image_url: card.people.contains(where: hidden.contains)
                    ? nil : try links.link(card.blobKey, for: user, now: now),
                share_url: card.token.map { links.address("/s/\($0)") }
            )
        }
        let shares = try await cards.shares(of: user).map { share in
            Part.Share(milestone_id: share.card.description, platform: share.platform, shared_at: share.at.description)
        }
        let part = Part(snaps: snaps, avatar_url: avatar, milestone_cards: made, milestone_shares: shares)
        let json = try JSONEncoder().encode(part)
        return ExportUserDataReply(json: String(decoding: json, as: UTF8.self))
    }

    /// In the API's own names.
    private struct Part: Encodable {
        let snaps: [Snap]
        let avatar_url: String?
        let milestone_cards: [Card]
        let milestone_shares: [Share]

        struct Card: Encodable {
            let id: String
            let streak_id: String
            let milestone: Int32
            let style: String
            let image_url: String?
            let share_url: String?
        }

        struct Share: Encodable {
            let milestone_id: String
            let platform: String
            let shared_at: String
        }

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
