internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// The user's habits as a file (HA-6).
struct ExportHabits: QueryHandler {
    let documents: HabitDocuments

    func handle(_ request: ExportHabitsRequest, _ context: CallContext) async throws -> ExportHabitsReply {
        let user = try context.requireUser()
        let range = try Self.range(request)
        let isJSON = request.format == "json"
        let made =
            isJSON
            ? try await documents.json(of: user, only: request.habitID, range, at: documents.habits.work.now())
            : try await documents.csv(of: user, only: request.habitID, range)
        let type = isJSON ? "application/json; charset=utf-8" : "text/csv; charset=utf-8"
        switch made {
        case .bytes(let bytes): return ExportHabitsReply(body: bytes, contentType: type, fileKey: "")
        case .file(let key): return ExportHabitsReply(body: [], contentType: type, fileKey: key.description)
        }
    }

    func problems(of request: ExportHabitsRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.range(request) }
    }

    /// - Throws: `VALIDATION_ERROR` naming `to`.
    private static func range(_ request: ExportHabitsRequest) throws(ServiceError) -> HabitExportRange {
        if let from = request.from, let to = request.to, to < from { throw .validation(field: "to", "must not be before from") }
        return HabitExportRange(from: request.from, to: request.to, includesNotes: request.includeNotes ?? true)
    }
}
