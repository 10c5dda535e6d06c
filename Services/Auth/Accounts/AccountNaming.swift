internal import AuthCore
internal import AuthDomain
internal import Database
internal import Kernel

/// Finds usernames for new accounts (AU-1).
struct AccountNaming: Sendable {
    let ids: any IDSource

    /// Runs a transaction that creates an account, with names made from `source` until one is free; with the wanted name only, if there is one.
    ///
    /// - Throws: `USERNAME_TAKEN`, `EMAIL_TAKEN`, and what `create` throws.
    func run<Result: Sendable>(
        _ wanted: String?,
        after source: String,
        _ create: @Sendable (_ username: String) async throws -> Result
    ) async throws -> Result {
        var attempt = 0
        while true {
            do {
                return try await create(wanted ?? Username.proposal(email: source, attempt: attempt, salt: salt(attempt)))
            } catch let error as DatabaseError where error.isUniqueViolation("account_email_key") {
                throw ServiceError.emailTaken
            } catch let error as DatabaseError where error.isUniqueViolation("account_username") {
                attempt += 1
                guard wanted == nil, attempt < 8 else { throw ServiceError.usernameTaken }
            }
        }
    }

    /// A number for the suffix of a name that is taken: the random half of a fresh id.
    private func salt(_ attempt: Int) -> UInt64 {
        guard attempt > 0 else { return 0 }
        let id: OperationID = ids.make()
        return id.low
    }
}

extension ServiceError {
    static let emailTaken = ServiceError(
        .alreadyExists,
        "EMAIL_TAKEN",
        "An account with this e-mail exists already.",
        details: [.init(field: "email", message: "is taken")]
    )
}
