internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// The page of an invite link. Codes that lead nowhere are answered alike, whatever the reason.
struct GetInvitePage: QueryHandler {
    let circles: CircleRepository
    let invites: InviteRepository
    let clock: any Clock

    func handle(_ request: GetInvitePageRequest, _: CallContext) async throws -> InvitePage {
        let found = try await invites.valid(request.code, circles, at: clock.now())
        let page = InvitePageText(
            circle: found.map { ($0.circle.name, $0.circle.members.all.count) },
            code: found?.stored.invite.code ?? "",
            language: request.lang ?? ""
        )
        return InvitePage(html: page.html, status: found == nil ? 404 : 200)
    }
}
