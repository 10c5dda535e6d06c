internal import Bus
internal import CommonAPI

/// NO-7: keeps the leases of a gateway's streams, and ends those of streams that have ended.
struct RenewWatches: QueryHandler {
    let leases: LeaseRepository

    func handle(_ request: RenewStreamsRequest, _: CallContext) async throws -> RenewStreamsReply {
        try await leases.end(request.endedLeaseIDs)
        return RenewStreamsReply(streams: try await leases.renew(request.leaseIDs))
    }
}
