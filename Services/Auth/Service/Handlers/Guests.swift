internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Crypto
internal import Kernel
internal import Tokens

extension AuthService {
    /// AU-8. The same device is the same guest; its token lives as long as a user's, and there is no session to end.
    func createGuestSession(_ request: CreateGuestSessionRequest, context: CallContext) async throws -> GuestSessionReply {
        let device = Array(SHA256.hash(data: Array(request.deviceID.utf8)))
        return try await mutations.run(context, request) { [self] work in
            guard
                let guest = try await guests.upsert(deviceHash: device, newID: work.ids.make(), now: work.now, work.sql)
            else { throw ServiceError.internal }
            let access = AccessToken(
                userID: guest.id,
                sessionID: work.ids.make(),
                email: "",
                role: .guest,
                issuedAt: work.now,
                expiresAt: work.now + .seconds(Int64(Self.accessTokenLifetime))
            )
            return GuestSessionReply(
                accessToken: try await keys.sign(access),
                tokenType: "Bearer",
                expiresIn: Self.accessTokenLifetime,
                guestID: guest.id.description,
                guestPeeksRemaining: Int32(
                    GuestPeeks.remaining(used: guest.peeksUsed, usedOn: guest.peeksOn, now: work.now)
                ),
                guestPeeksResetAt: GuestPeeks.resetAt(work.now)
            )
        }
    }

    /// AU-8. Apps call it, and services that show a guest something.
    func useGuestPeek(_ request: UseGuestPeekRequest, context: CallContext) async throws -> GuestPeekReply {
        guard let principal = context.principal, principal.role == .guest, let id = principal.userID else {
            throw ServiceError(.failedPrecondition, "NOT_A_GUEST", "Only guests have a number of peeks.")
        }
        return try await mutations.run(context, request) { [self] work in
            guard let guest = try await guests.lock(id, work.sql) else {
                throw ServiceError(.unauthenticated, "INVALID_TOKEN", "This guest is not known any more.")
            }
            let resetAt = GuestPeeks.resetAt(work.now)
            let left = GuestPeeks.remaining(used: guest.peeksUsed, usedOn: guest.peeksOn, now: work.now)
            guard left > 0 else {
                throw ServiceError(
                    .resourceExhausted,
                    "GUEST_PEEKS_USED_UP",
                    "That was all for today. Sign up to see more.",
                    retryAfter: Int((resetAt - work.now).seconds) + 1
                )
            }
            try await guests.count(id, used: GuestPeeks.daily - left + 1, now: work.now, work.sql)
            return GuestPeekReply(guestPeeksRemaining: Int32(left - 1), guestPeeksResetAt: resetAt)
        }
    }
}
