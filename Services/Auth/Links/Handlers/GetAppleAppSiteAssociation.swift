internal import AuthAPI
internal import Bus
internal import Kernel

/// The file by which iPhones open links of this server in the app.
struct GetAppleAppSiteAssociation: QueryHandler {
    let files: AppFiles

    func handle(_: GetAppleAppSiteAssociationRequest, _: CallContext) async throws -> AppFile {
        guard let json = files.apple else { throw ServiceError.notFound("file: no such app is configured") }
        return AppFile(json: json)
    }
}
