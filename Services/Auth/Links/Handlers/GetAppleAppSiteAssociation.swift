internal import AuthAPI
internal import Bus

/// The file by which iPhones open links of this server in the app.
struct GetAppleAppSiteAssociation: QueryHandler {
    let files: AppFiles

    func handle(_: GetAppleAppSiteAssociationRequest, _: CallContext) async throws -> AppFile {
        files.apple.map { AppFile(json: $0) } ?? AppFile(json: "{}", status: 404)
    }
}
