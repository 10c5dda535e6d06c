internal import AuthAPI
internal import Bus

/// The page of a link that verifies an address (AU-13). It is the same for every token.
struct GetVerificationPage: QueryHandler {
    func handle(_ request: GetLinkPageRequest, _: CallContext) async throws -> LinkPage {
        LinkPage(html: BrowserPage(purpose: .verification, language: request.lang ?? "").html)
    }
}
