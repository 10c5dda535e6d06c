internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// An administrator suspends an account; with the reply no gateway takes its tokens.
struct SuspendAccount: MutationHandler {
    let lifecycle: AccountLifecycle
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: SuspendAccountRequest, _ context: CallContext) async throws -> Once<AccountStanding> {
        let admin = try context.requireAdmin()
        let user = request.userID
        guard user != admin else { throw ServiceError.cannotModerateSelf }
        let reply = try await mutations.once(context, request) { work in
            let until = try Self.end(request.until, now: work.now)
            guard var life = try await lifecycle.repository.lock(user, work.sql) else { throw ServiceError.notFound("account") }
            let before = life
            life.suspend(until: until, now: work.now)
            try await AdminLog.note(.suspendAccount, of: user, by: admin, "until \(until): \(request.reason)", context, work)
            if life != before {
                try await lifecycle.change(user, to: life, signOut: life.status != before.status, work)
            }
            return AccountStanding(life, of: user)
        }
        try await revocations.publish(of: user)
        return reply
    }

    func problems(of request: SuspendAccountRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.end(request.until, now: mutations.work.now()) }
    }

    /// When the suspension ends.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `until` for an instant that is over or too far away.
    private static func end(_ wanted: Instant?, now: Instant) throws(ServiceError) -> Instant {
        guard let wanted else { return now + AccountLife.suspension }
        guard wanted > now else { throw .validation(field: "until", "must be later than now") }
        guard wanted <= now + AccountLife.longestSuspension else {
            throw .validation(field: "until", "must be at most 10 years from now")
        }
        return wanted
    }
}

extension ServiceError {
    static let cannotModerateSelf = ServiceError(
        .permissionDenied,
        "CANNOT_MODERATE_SELF",
        "Another administrator must do this to your account."
    )
}
