internal import Bus
internal import Kernel
internal import Replicas

/// The terms of service, which a user must accept before posting (AU-9).
struct Terms: Sendable {
    let profiles: ProfileReplica

    /// - Throws: `TERMS_NOT_ACCEPTED`.
    func requireAccepted(by user: UserID, _ context: CallContext) async throws {
        guard try await profiles.hasAcceptedTerms(user, context: context) else {
            throw ServiceError(.failedPrecondition, "TERMS_NOT_ACCEPTED", "Accept the terms of service before you post.")
        }
    }
}
