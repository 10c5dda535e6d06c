internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Cryptography
internal import Kernel
internal import ServiceRuntime
internal import Tokens

/// A token for a guest (AU-8). The same device is the same guest; its token lives as long as a user's, and there is no session to end.
struct CreateGuestSession: MutationHandler {
    let challenges: Challenges
    let guests: GuestRepository
    let keys: KeyRing
    let mutations: Mutations

    func handle(_ request: CreateGuestSessionRequest, _ context: CallContext) async throws -> Once<GuestSessionReply> {
        try await challenges.ask(context, request, mutations) { try await make(request, context) }
    }

    private func make(_ request: CreateGuestSessionRequest, _ context: CallContext) async throws -> Once<GuestSessionReply> {
        let device = Array(SHA256.hash(data: request.deviceID.utf8))
        return try await mutations.once(context, request) { work in
            guard
                let guest = try await guests.upsert(deviceHash: device, newID: work.ids.make(), now: work.now, work.sql)
            else { throw ServiceError.internal }
            var left = GuestPeeks.remaining(used: guest.peeksUsed, usedOn: guest.peeksOn, now: work.now)
            if let address = GuestRepository.key(of: context.clientAddress) {
                left = min(left, try await guests.remaining(ofAddress: address, now: work.now, work.sql))
            }
            let access = AccessToken(
                userID: guest.id,
                sessionID: work.ids.make(),
                email: "",
                role: .guest,
                issuedAt: work.now,
                expiresAt: work.now + .seconds(Int64(SessionIssuer.accessTokenLifetime))
            )
            return GuestSessionReply(
                accessToken: try keys.sign(access),
                tokenType: "Bearer",
                expiresIn: SessionIssuer.accessTokenLifetime,
                guestID: guest.id,
                guestPeeksRemaining: Int32(left),
                guestPeeksResetAt: GuestPeeks.resetAt(work.now)
            )
        }
    }
}
