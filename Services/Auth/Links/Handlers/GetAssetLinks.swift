internal import AuthAPI
internal import Bus
internal import Kernel

/// The file by which Android phones open links of this server in the app.
struct GetAssetLinks: QueryHandler {
    let files: AppFiles

    func handle(_: GetAssetLinksRequest, _: CallContext) async throws -> AppFile {
        guard let json = files.android else { throw ServiceError.notFound("file: no such app is configured") }
        return AppFile(json: json)
    }
}
