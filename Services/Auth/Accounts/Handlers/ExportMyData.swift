internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel

/// AU-10: one document with one member a service. Every part is a JSON object already, so they are only put side by side.
struct ExportMyData: QueryHandler {
    let exports: ExportRepository
    let sources: DataSources
    let clock: any Clock

    func handle(_: ExportMyDataRequest, _ context: CallContext) async throws -> ExportMyDataReply {
        let user = try context.requireUser()
        guard let own = try await exports.export(user) else {
            throw ServiceError.sessionRevoked
        }
        let others = try await sources.collect(user, context: context)
        let members = [("auth", own)] + others.map { ($0.name, $0.json) }
        let body = members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
        let json = "{\"exported_at\":\"\(clock.now())\",\"user_id\":\"\(user)\",\(body)}"
        guard json.utf8.count <= Self.mostExportBytes else {
            throw ServiceError(
                .failedPrecondition,
                "EXPORT_TOO_LARGE",
                "There is more than one reply can hold; ask support for it."
            )
        }
        return ExportMyDataReply(json: json)
    }

    /// What a reply on the bus holds (`max_payload` of the broker), with room for its envelope.
    private static let mostExportBytes = 8_000_000
}
