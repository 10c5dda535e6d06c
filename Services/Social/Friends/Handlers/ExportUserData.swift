internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import SocialCore

/// Everything the service holds about one user: its part of the export (AU-10).
struct ExportUserData: QueryHandler {
    let database: Database

    func handle(_ request: ExportUserDataRequest, _: CallContext) async throws -> ExportUserDataReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        return ExportUserDataReply(json: try await DepartureRepository.export(user, database))
    }
}
