internal import BillingDomain
internal import Database
internal import Kernel

/// Whose subscriptions and packs are, after all that moved them (BI-1).
enum Owners {
    /// The owner of what these events are about; nil: of a user who is not known here.
    static func owner(
        _ history: [(stored: StoredStoreEvent, event: StoreEvent)],
        _ sql: some QueryExecutor
    ) async throws -> UserID? {
        var signs = history.compactMap { entry in entry.stored.user.map { Ownership.Sign.event(entry.event, of: $0) } }
        signs += try await transfers(from: Set(history.compactMap(\.stored.user)), sql)
        return Ownership.owner(signs)
    }

    /// The users whose subscriptions and packs may ever have been with these: themselves, and those from whom transfers have led to them.
    static func sources(of users: Set<UserID>, _ sql: some QueryExecutor) async throws -> Set<UserID> {
        var (found, next) = (users, users)
        while !next.isEmpty {
            next = Set(try await StoreNameRepository.sources(of: next.sorted(), sql)).subtracting(found)
            found.formUnion(next)
        }
        return found
    }

    /// What was moved away from these users, and onwards from those it was moved to.
    private static func transfers(from users: Set<UserID>, _ sql: some QueryExecutor) async throws -> [Ownership.Sign] {
        var (signs, seen, next) = ([Ownership.Sign](), users, users)
        while !next.isEmpty {
            let moves = try await StoreNameRepository.transfers(from: next.sorted(), sql)
            signs += moves.map { .transfer(id: $0.event, at: $0.at, from: $0.from, to: $0.to) }
            next = Set(moves.compactMap(\.to)).subtracting(seen)
            seen.formUnion(next)
        }
        return signs
    }
}
