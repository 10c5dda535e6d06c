package import Bus
package import Kernel
internal import Replicas

/// The terms of service, which a user must accept before posting (AU-9).
package struct Terms: Sendable {
    let profiles: ProfileReplica

    /// Refuses a user who has not accepted them.
    ///
    /// - Throws: `TERMS_NOT_ACCEPTED`.
    package func requireAccepted(by user: UserID, _ context: CallContext) async throws {
        guard try await profiles.hasAcceptedTerms(user, context: context) else {
            throw ServiceError(.failedPrecondition, "TERMS_NOT_ACCEPTED", "Accept the terms of service before you post.")
        }
    }
}
