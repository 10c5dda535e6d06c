internal import BillingAPI
internal import Bus
internal import CommonAPI
internal import Kernel
internal import MediaAPI
internal import NotificationsAPI
internal import SocialAPI
internal import StreaksAPI

/// The other services that hold something about a user (AU-10). A new service that does is added here.
struct DataSources: Sendable {
    typealias Export = @Sendable (ExportUserDataRequest, CallContext) async throws -> ExportUserDataReply

    /// By the name of the service.
    let services: [(name: String, export: Export)]

    init(_ bus: any Caller) {
        let (social, streaks, media) = (FriendsClient(bus), ProgressClient(bus), SnapsClient(bus))
        let (notifications, billing) = (NotificationsClient(bus), BillingClient(bus))
        services = [
            ("social", { try await social.exportUserData($0, context: $1) }),
            ("streaks", { try await streaks.exportUserData($0, context: $1) }),
            ("media", { try await media.exportUserData($0, context: $1) }),
            ("notifications", { try await notifications.exportUserData($0, context: $1) }),
            ("billing", { try await billing.exportUserData($0, context: $1) }),
        ]
    }

    /// The reply of one service; nil when it did not answer. No tuple: Swift 6.3.1 with `-O` loses those in a task group.
    private struct Answer: Sendable {
        let index: Int
        let json: String?
    }

    /// The part of every service, asked side by side, in the order of `services`.
    ///
    /// - Throws: `EXPORT_INCOMPLETE` (unavailable) that names every service that does not answer: never less than everything.
    func collect(_ user: UserID, context: CallContext) async throws -> [(name: String, json: String)] {
        let request = ExportUserDataRequest(userID: user.description)
        let asking = context.child(timeout: .seconds(15), principal: Principal(role: .service))
        let answers = await withTaskGroup(of: Answer.self) { tasks in
            for (index, service) in services.enumerated() {
                tasks.addTask { Answer(index: index, json: try? await service.export(request, asking).json) }
            }
            var answers: [Int: String] = [:]
            for await answer in tasks { answers[answer.index] = answer.json }
            return answers
        }
        try Task.checkCancellation()
        var parts: [(name: String, json: String)] = []
        var missing: [String] = []
        for (index, service) in services.enumerated() {
            if let json = answers[index] {
                parts.append((service.name, json))
            } else {
                missing.append(service.name)
            }
        }
        guard missing.isEmpty else {
            throw ServiceError(
                .unavailable,
                "EXPORT_INCOMPLETE",
                "These services do not answer now: \(missing.joined(separator: ", ")). Try again later.",
                details: missing.map { ServiceError.Detail(field: $0, message: "does not answer") },
                retryAfter: 10
            )
        }
        return parts
    }
}
