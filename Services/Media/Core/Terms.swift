package import Bus
package import Kernel
internal import Replicas

/// The terms of service, which a user must accept before posting (AU-9).
package struct Terms: Sendable {
    let profiles: ProfileReplica
    /// The version in force; empty when this installation names none.
    let version: String

    /// Refuses a user who has not accepted them.
    ///
    /// - Throws: `TERMS_NOT_ACCEPTED`.
    package func requireAccepted(by user: UserID, _ context: CallContext) async throws {
        guard try await profiles.hasAcceptedTerms(user, context: context) else {
            throw Self.refusal(version: version)
        }
    }

    /// The refusal, with the request that mends it.
    ///
    /// - Parameter version: the one to accept; empty for the one that the app shows.
    static func refusal(version: String) -> ServiceError {
        let (route, shown) = ("POST /api/users/me/terms", version.isEmpty ? "2026-01" : version)
        let which = version.isEmpty ? ", with the version that your app shows" : ""
        return ServiceError(
            .failedPrecondition,
            "TERMS_NOT_ACCEPTED",
            "Accept the terms of service before you post: \(route) {\"version\": \"\(shown)\"}\(which).",
            details: [
                .init(field: "route", message: route),
                .init(field: "version", message: version.isEmpty ? "the one that your app shows, as 2026-01" : version),
            ]
        )
    }
}
