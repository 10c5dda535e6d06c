internal import Bus
internal import CommonAPI
internal import Kernel
internal import ServiceRuntime

/// The services that hold something about a user (AU-10), each with the pages of its part. A new service that does is added here; one of another
/// repository is named by a setting.
struct DataSources: Sendable {
    /// One page of a service's part.
    typealias Page = @Sendable (ExportPersonalDataRequest, CallContext) async throws -> ExportPersonalDataReply

    /// The part of one service.
    struct Source: Sendable {
        let name: String
        let page: Page
    }

    /// In the order of the document.
    let sources: [Source]

    private static let others = ["social", "streaks", "media", "notifications", "billing"]

    /// - Parameters:
    ///   - own: of this service, which needs no call.
    ///   - further: names of services of other repositories; those that are here anyway change nothing.
    init(_ bus: any Caller, own: PersonalDataExporter, further: [String]) {
        let known = ["auth"] + Self.others
        sources =
            [Source(name: "auth") { request, _ in try await own.page(request) }]
            + (Self.others + further.filter { !known.contains($0) }).map { service in
                Source(name: service) { request, context in
                    try await bus.call(PersonalDataMethods.export(of: service), request, context: context)
                }
            }
    }

    /// What one service said: `text` is nil when it did not answer or there is too much. No tuple: Swift 6.3.1 with `-O` loses those in a task
    /// group.
    private struct Answer: Sendable {
        let index: Int
        var text: String?
        var isTooLarge = false
    }

    /// The whole document, its parts asked side by side.
    ///
    /// - Parameter limit: the most bytes.
    /// - Returns: nil when there is more.
    /// - Throws: `EXPORT_INCOMPLETE` (unavailable) that names every service that does not answer: never less than everything.
    func document(of user: UserID, at now: Instant, limit: Int, context: CallContext) async throws -> String? {
        let asking = context.child(timeout: .seconds(15), principal: Principal(role: .service))
        let answers = await withTaskGroup(of: Answer.self) { tasks in
            for (index, source) in sources.enumerated() {
                tasks.addTask { await Self.answer(index, source, user, limit: limit, asking) }
            }
            var answers: [Int: Answer] = [:]
            for await answer in tasks {
                answers[answer.index] = answer
                // Whatever the others say, it is too much for one reply.
                if answer.isTooLarge { tasks.cancelAll() }
            }
            return answers
        }
        try Task.checkCancellation()
        if answers.values.contains(where: \.isTooLarge) { return nil }
        let missing = sources.indices.filter { answers[$0]?.text == nil }.map { sources[$0].name }
        guard missing.isEmpty else { throw Self.incomplete(missing) }
        let members = sources.indices.compactMap { answers[$0]?.text }
        let document = Self.head(user, now) + members.joined(separator: ",") + "}"
        return document.utf8.count <= limit ? document : nil
    }

    private static func answer(_ index: Int, _ source: Source, _ user: UserID, limit: Int, _ context: CallContext) async -> Answer
    {
        var member = DocumentMember(source, of: user)
        var text = ""
        do {
            while let piece = try await member.next(context) {
                text += piece
                guard text.utf8.count <= limit else { return Answer(index: index, isTooLarge: true) }
            }
        } catch { return Answer(index: index) }
        return Answer(index: index, text: text)
    }

    /// How the document begins; the members of the services follow, and a closing brace.
    static func head(_ user: UserID, _ now: Instant) -> String { "{\"exported_at\":\"\(now)\",\"user_id\":\"\(user)\"," }

    private static func incomplete(_ missing: [String]) -> ServiceError {
        ServiceError(
            .unavailable,
            "EXPORT_INCOMPLETE",
            "These services do not answer now: \(missing.joined(separator: ", ")). Try again later.",
            details: missing.map { ServiceError.Detail(field: $0, message: "does not answer") },
            retryAfter: 10
        )
    }
}
