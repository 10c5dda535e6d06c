internal import Bus
internal import Kernel
internal import MediaAPI
internal import Replicas

extension MediaService {
    /// MC-2. A token that nobody was given, a page that was withdrawn, and people who may not be seen all look the same.
    func getSharePage(_ request: GetSharePageRequest, context: CallContext) async throws -> GetSharePageReply {
        let wantsImage = request.token.hasSuffix(".png")
        let token = wantsImage ? String(request.token.dropLast(4)) : request.token
        guard let (card, profiles) = try await shared(token, context) else {
            return GetSharePageReply(html: SharePage.nothing, status: 404)
        }
        if wantsImage { return GetSharePageReply(imageKey: card.blobKey) }
        let page = SharePage(
            card: card.content(profiles),
            address: links.address("/s/\(token)"),
            imagePath: "/s/\(token).png",
            imageAddress: links.address("/s/\(token).png")
        )
        return GetSharePageReply(html: page.html)
    }

    private func shared(_ token: String, _ context: CallContext) async throws -> (StoredCard, [Profile])? {
        guard token.utf8.count == 32, let card = try await cards.repository.find(token: token) else { return nil }
        guard try await blocks.hidden(from: card.people[0], among: [card.people[1]]).isEmpty else { return nil }
        let known = try await profiles.profiles(card.people, context: context)
        let shown = card.people.compactMap { known[$0] }.filter(\.isVisible)
        return shown.count == card.people.count ? (card, shown) : nil
    }
}
