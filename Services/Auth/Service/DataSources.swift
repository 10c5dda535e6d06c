internal import BillingAPI
internal import Bus
internal import CommonAPI
internal import Kernel
internal import MediaAPI
internal import NotificationsAPI
internal import SocialAPI
internal import StreaksAPI

/// Whoever else holds something about a person (AU-10). A new service that does is added here.
struct DataSources: Sendable {
    typealias Export = @Sendable (ExportUserDataRequest, CallContext) async throws -> ExportUserDataReply

    /// By the name of the service.
    let services: [(name: String, export: Export)]

    init(_ bus: any Caller) {
        let (social, streaks, media) = (SocialClient(bus), StreaksClient(bus), MediaClient(bus))
        let (notifications, billing) = (NotificationsClient(bus), BillingClient(bus))
        services = [
            ("social", { try await social.exportUserData($0, context: $1) }),
            ("streaks", { try await streaks.exportUserData($0, context: $1) }),
            ("media", { try await media.exportUserData($0, context: $1) }),
            ("notifications", { try await notifications.exportUserData($0, context: $1) }),
            ("billing", { try await billing.exportUserData($0, context: $1) }),
        ]
    }

    /// The part of every service, asked side by side, in the order of `services`.
    ///
    /// - Throws: `EXPORT_INCOMPLETE` (unavailable) that names every service that does not answer: never less than everything.
    func collect(_ user: UserID, context: CallContext) async throws -> [(name: String, json: String)] {
        let request = ExportUserDataRequest(userID: user.description)
        let asking = context.child(timeout: .seconds(15), principal: Principal(role: .service))
        let results = await withTaskGroup(of: (Int, Result<String, any Error>).self) { tasks in
            for (index, service) in services.enumerated() {
                tasks.addTask {
                    do { return (index, .success(try await service.export(request, asking).json)) } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var results: [Int: Result<String, any Error>] = [:]
            for await (index, result) in tasks { results[index] = result }
            return results
        }
        try Task.checkCancellation()
        var parts: [(name: String, json: String)] = []
        var missing: [String] = []
        for (index, service) in services.enumerated() {
            if case .success(let json)? = results[index] {
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
