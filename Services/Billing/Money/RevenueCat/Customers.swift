internal import AuthAPI
internal import BillingDomain
internal import Bus
internal import Database
internal import Kernel

/// Which ids are users of ours. RevenueCat's ids may be anything that an app has sent.
struct Customers: Sendable {
    let database: Database
    let profiles: ProfilesClient

    init(database: Database, bus: any Caller) { (self.database, profiles) = (database, ProfilesClient(bus)) }

    /// Those of these ids that are users. `auth` is asked about each once, before any transaction.
    ///
    /// - Throws: `UNAVAILABLE` while `auth` is away and has to be asked.
    func ours(_ ids: Set<UserID>, context: CallContext) async throws -> Set<UserID> {
        guard !ids.isEmpty else { return [] }
        let known = try await CustomerRepository.known(Array(ids), database)
        let unknown = ids.subtracting(known)
        guard !unknown.isEmpty else { return known }
        let reply = try await profiles.getSummaries(GetSummariesRequest(userIDs: unknown.sorted()), context: context)
        let found = Set(reply.profiles.map(\.userID)).intersection(unknown)
        if !found.isEmpty { try await CustomerRepository.add(found.sorted(), database) }
        return known.union(found)
    }
}
