internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Counts one peek of a guest, and of its client address: device ids can be made up (AU-8). Apps call it, and services that show a guest something.
struct UseGuestPeek: MutationHandler {
    let guests: GuestRepository
    let mutations: Mutations

    func handle(_ request: UseGuestPeekRequest, _ context: CallContext) async throws -> Once<GuestPeekReply> {
        guard let principal = context.principal, principal.role == .guest, let id = principal.userID else {
            throw ServiceError(.failedPrecondition, "NOT_A_GUEST", "Only guests have a number of peeks.")
        }
        return try await mutations.once(context, request) { work in
            guard let guest = try await guests.lock(id, work.sql) else {
                throw ServiceError(.unauthenticated, "INVALID_TOKEN", "This guest is not known any more.")
            }
            let resetAt = GuestPeeks.resetAt(work.now)
            let left = GuestPeeks.remaining(used: guest.peeksUsed, usedOn: guest.peeksOn, now: work.now)
            // The guest first, always: two transactions never wait for each other crosswise.
            var rest = left - 1
            if left > 0, let address = GuestRepository.key(of: context.clientAddress) {
                rest = min(rest, try await guests.count(ofAddress: address, now: work.now, work.sql))
            }
            guard rest >= 0 else {
                throw ServiceError(
                    .resourceExhausted,
                    "GUEST_PEEKS_USED_UP",
                    "That was all for today. Sign up to see more.",
                    retryAfter: Int((resetAt - work.now).seconds) + 1
                )
            }
            try await guests.count(id, used: GuestPeeks.daily - left + 1, now: work.now, work.sql)
            return GuestPeekReply(guestPeeksRemaining: Int32(rest), guestPeeksResetAt: resetAt)
        }
    }
}
