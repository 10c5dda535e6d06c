internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import Replicas

/// The public page of a card, or its picture (MC-2). An unknown token, a withdrawn page, and users who may not be seen are answered alike.
struct GetSharePage: QueryHandler {
    let cards: MilestoneCards
    let profiles: ProfileReplica
    let blocks: BlockReplica
    let links: MediaLinks

    func handle(_ request: GetSharePageRequest, _ context: CallContext) async throws -> GetSharePageReply {
        let parts = request.token.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let token = String(parts[0])
        let wanted = parts.count > 1 ? String(parts[1]) : nil
        guard let (card, profiles) = try await shared(token, context) else {
            return GetSharePageReply(html: SharePage.nothing, status: 404)
        }
        switch wanted {
        case nil: break
        case "png"?: return GetSharePageReply(imageKey: card.blobKey)
        case "wide.png"?: return GetSharePageReply(imageKey: try await cards.preview(of: card, profiles).description)
        default: return GetSharePageReply(html: SharePage.nothing, status: 404)
        }
        let page = SharePage(
            card: card.content(profiles),
            address: links.address("/s/\(token)"),
            imagePath: "/s/\(token).png",
            previewAddress: links.address("/s/\(token).wide.png")
        )
        return GetSharePageReply(html: page.html)
    }

    private func shared(_ token: String, _ context: CallContext) async throws -> (StoredCard, [Profile])? {
        guard token.utf8.count == 32, let card = try await cards.repository.find(token: token) else { return nil }
        guard try await blocks.hidden(from: card.people[0], among: card.people.dropFirst()).isEmpty else { return nil }
        let known = try await profiles.profiles(card.people, context: context)
        let shown = card.people.compactMap { known[$0] }.filter(\.isVisible)
        return shown.count == card.people.count ? (card, shown) : nil
    }
}
