internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain
private import Synchronization
internal import Wire

/// The first hundred of all users, encoded: some 25 kB that thousands of callers a second get (CI-7). Made when a caller asks and
/// the last one is older than its life.
final class GlobalPages: Sendable {
    static let most = 100

    /// The first of a board.
    struct Page: Sendable {
        struct Entry: Sendable {
            let user: UserID
            let rank: Int
            /// The field of the reply, as others see it and as the user does.
            let encoded: [UInt8]
            let encodedAsOwn: [UInt8]
        }

        let entries: [Entry]
        let ranks: [UserID: Int]
        let total: Int
        let asOf: Instant
    }

    private let boards: Boards
    private let entries: BoardEntries
    private let life: Duration
    private let pages = Mutex<[StreakKind: (page: Page, madeAt: ContinuousClock.Instant)]>([:])
    private let making = SingleFlight<StreakKind, Page>()

    /// - Parameter life: how long a page is given out.
    init(boards: Boards, entries: BoardEntries, life: Duration = .milliseconds(750)) {
        (self.boards, self.entries, self.life) = (boards, entries, life)
    }

    /// The page of a kind, never older than its life.
    func page(_ kind: StreakKind) async throws -> Page {
        let now = ContinuousClock.now
        if let known = pages.withLock({ $0[kind] }), now - known.madeAt < life { return known.page }
        return try await making.run(kind) { [self] in
            let madeAt = ContinuousClock.now
            let page = try await make(kind)
            pages.withLock { $0[kind] = (page, madeAt) }
            return page
        }
    }

    private func make(_ kind: StreakKind) async throws -> Page {
        let (first, total, asOf) = boards.read { ($0.first(Self.most, kind), $0.total(kind), $1) }
        let entries = try await entries.entries(first, for: nil, .expiring(in: .seconds(5)))
        return Page(
            entries: try entries.map { entry in
                var own = entry
                own.isCurrentUser = true
                return Page.Entry(
                    user: entry.userID,
                    rank: Int(entry.rank),
                    encoded: try Self.field(entry),
                    encodedAsOwn: try Self.field(own)
                )
            },
            ranks: Dictionary(first.enumerated().map { ($1.user, $0 + 1) }) { first, _ in first },
            total: total,
            asOf: asOf
        )
    }

    /// An entry as field 1 of `Leaderboard`.
    private static func field(_ entry: LeaderboardEntry) throws -> [UInt8] {
        var writer = WireWriter()
        writer.bytes(try entry.serialized(), field: 1)
        return writer.bytes
    }
}
