internal import Bus
internal import Kernel
internal import Replicas
internal import SocialAPI
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain
internal import Wire

/// What is answered about the leaderboard of a kind.
struct BoardReplies: Sendable {
    /// Entries when the caller does not say how many, and at most.
    private static let standard = 50

    enum Scope: Hashable, Sendable {
        case friends
        case global
        case circle(CircleID)

        /// Without a scope a circle is meant when it is named.
        ///
        /// - Throws: `VALIDATION_ERROR` for a circle without its id.
        init(_ name: String?, circle: CircleID?) throws(ServiceError) {
            switch name ?? (circle == nil ? "friends" : "circle") {
            case "global": self = .global
            case "circle":
                guard let circle else { throw .validation(field: "circle_id", "is needed for the scope circle") }
                self = .circle(circle)
            default: self = .friends
            }
        }
    }

    let boards: Boards
    let pages: GlobalPages
    let entries: BoardEntries
    let blocks: BlockReplica
    let friends: FriendsClient
    let circles: CircleReplica
    let views: ViewCounter

    /// - Parameter limit: 0 for the standard.
    func reply(_ kind: StreakKind, _ scope: Scope, limit: Int32, _ context: CallContext) async throws
        -> Encoded<Leaderboard>
    {
        let caller = try context.requireUser()
        let limit = limit == 0 ? Self.standard : min(Int(limit), GlobalPages.most)
        let reply =
            switch scope {
            case .global: try await global(kind, limit, caller)
            case .friends: try await friendBoard(kind, limit, caller, context)
            case .circle(let circle): try await circleBoard(circle, kind, limit, caller, context)
            }
        views.note(caller)
        return reply
    }

    /// From the page that is the same for all callers: one statement, and one search for the caller's rank.
    private func global(_ kind: StreakKind, _ limit: Int, _ caller: UserID) async throws -> Encoded<Leaderboard> {
        let page = try await pages.page(kind)
        let shown = page.entries.prefix { $0.rank <= limit }
        let hidden = try await blocks.hidden(from: caller, among: shown.map(\.user))
        // The page is a moment older than the boards: a user on it has the rank that it shows.
        let standing =
            page.ranks[caller].map { BoardStanding(rank: $0, total: page.total) }
            ?? boards.read { boards, _ in boards.standing(of: caller, kind) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(shown.reduce(100) { $0 + $1.encodedAsOwn.count })
        for entry in shown where !hidden.contains(entry.user) {
            bytes += entry.user == caller ? entry.encodedAsOwn : entry.encoded
        }
        bytes += try Self.rest(standing, asOf: page.asOf).serialized()
        return Encoded(bytes: bytes)
    }

    private func friendBoard(_ kind: StreakKind, _ limit: Int, _ caller: UserID, _ context: CallContext) async throws
        -> Encoded<Leaderboard>
    {
        let reply = try await friends.listFriendIDs(ListFriendIDsRequest(userID: caller), context: context)
        return try await group(Set(reply.friendIDs).union([caller]), kind, limit, caller, context)
    }

    private func circleBoard(
        _ circle: CircleID,
        _ kind: StreakKind,
        _ limit: Int,
        _ caller: UserID,
        _ context: CallContext
    ) async throws -> Encoded<Leaderboard> {
        let members = try await circles.circle(circle, of: caller, context).members.map(\.user)
        return try await group(Set(members), kind, limit, caller, context, withAverage: true)
    }

    /// The board of some users only.
    private func group(
        _ users: Set<UserID>,
        _ kind: StreakKind,
        _ limit: Int,
        _ caller: UserID,
        _ context: CallContext,
        withAverage: Bool = false
    ) async throws -> Encoded<Leaderboard> {
        let (ranked, asOf) = boards.read { ($0.ranked(users, kind), $1) }
        let hidden = try await blocks.hidden(from: caller, among: ranked.map(\.user))
        let shown = try await entries.entries(Array(ranked.prefix(limit)), for: caller, context)
        let rank = ranked.firstIndex { $0.user == caller }.map { $0 + 1 }
        var reply = Self.rest(BoardStanding(rank: rank, total: ranked.count), asOf: asOf)
        reply.leaderboard = shown.filter { !hidden.contains($0.userID) }
        if withAverage {
            let without = repeatElement(0, count: users.count - ranked.count)
            reply.averageStreak = averageStreak(ranked.map(\.score.count) + without)
        }
        return Encoded(bytes: try reply.serialized())
    }

    /// A reply without its entries.
    private static func rest(_ standing: BoardStanding, asOf: Instant) -> Leaderboard {
        Leaderboard(
            userRank: standing.rank.map { Int32(clamping: $0) },
            totalUsers: Int32(clamping: standing.total),
            percentile: standing.percentile,
            asOf: asOf
        )
    }
}
