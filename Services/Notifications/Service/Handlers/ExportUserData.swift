internal import Bus
internal import CommonAPI
internal import Kernel
internal import NotificationsAPI

extension NotificationsService {
    /// AU-10.
    func exportUserData(_ request: ExportUserDataRequest, context _: CallContext) async throws -> ExportUserDataReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        return ExportUserDataReply(json: try await DepartureRepository.export(user, log.database))
    }
}
