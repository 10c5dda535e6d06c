internal import AuthAPI
internal import Bus

/// The page of a link by which a new password can be set (AU-13). It is the same for every token.
struct GetResetPage: QueryHandler {
    func handle(_ request: GetLinkPageRequest, _: CallContext) async throws -> LinkPage {
        LinkPage(html: BrowserPage(purpose: .passwordReset, language: request.lang ?? "").html)
    }
}
