internal import AuthAPI
internal import Bus

/// The file by which Android phones open links of this server in the app.
struct GetAssetLinks: QueryHandler {
    let files: AppFiles

    func handle(_: GetAssetLinksRequest, _: CallContext) async throws -> AppFile {
        files.android.map { AppFile(json: $0) } ?? AppFile(json: "{}", status: 404)
    }
}
