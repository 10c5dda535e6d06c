public import Kernel

/// The boards of all kinds in memory (CI-7): each user's score by kind, and their order.
///
/// Ranks are exact and cost O(log n). A user on a board takes some 30 bytes there (8 for the score, 16 in a block that is at
/// least a quarter and mostly two thirds full) and 24 once for all boards: a million users on one board some 55 MB, on all six
/// some 200 MB.
public struct Leaderboards: Sendable {
    /// A streak's state as a board takes it.
    public struct Update: Sendable {
        public let kind: StreakKind
        public let user: UserID
        /// nil: the streak has ended, is broken, or counts 0.
        public let score: BoardScore?

        public init(kind: StreakKind, user: UserID, score: BoardScore?) {
            (self.kind, self.user, self.score) = (kind, user, score)
        }
    }

    private struct Board: Sendable {
        /// By the user's number; 0: not on the board. A score of a count of 1 or more is never 0.
        var scores: [UInt64] = []
        var order = RankedBlocks()

        func score(of person: UInt32) -> BoardScore? {
            guard Int(person) < scores.count, scores[Int(person)] != 0 else { return nil }
            return BoardScore(packed: scores[Int(person)])
        }

        mutating func note(_ score: BoardScore?, of person: UInt32) {
            if Int(person) >= scores.count {
                guard score != nil else { return }
                scores.append(contentsOf: repeatElement(0, count: Int(person) + 1 - scores.count))
            }
            scores[Int(person)] = score?.packed ?? 0
        }
    }

    private var people: BoardPeople
    private var boards: [StreakKind: Board] = [:]

    /// Empty boards.
    ///
    /// - Parameter capacity: for how many users there is room at once.
    public init(capacity: Int = 0) { people = BoardPeople(capacity: capacity) }

    /// Builds the boards of these streaks: sorts them once. Of a user's several streaks of a kind the best counts.
    public init(_ all: some Collection<Update>) {
        self.init(capacity: all.count)
        var entries: [StreakKind: [RankedBlocks.Entry]] = [:]
        for update in all {
            guard let score = update.score else { continue }
            let person = people.add(update.user)
            if let known = boards[update.kind]?.score(of: person), known >= score { continue }
            boards[update.kind, default: Board()].note(score, of: person)
        }
        for (kind, board) in boards {
            for (person, packed) in board.scores.enumerated() where packed != 0 {
                entries[kind, default: []].append(
                    RankedBlocks.Entry(score: BoardScore(packed: packed), person: UInt32(person))
                )
            }
        }
        for (kind, unsorted) in entries {
            let sorted = unsorted.sorted { RankedBlocks.isAhead($0, $1, people) }
            boards[kind]?.order = RankedBlocks(sorted: sorted)
        }
    }

    /// Takes up new states; those of streaks that count nothing first, so that a user's ended streak does not hide the next one.
    public mutating func apply(_ updates: some Collection<Update>) {
        for update in updates where update.score == nil { set(nil, update) }
        for update in updates { if let score = update.score { set(score, update) } }
    }

    private mutating func set(_ score: BoardScore?, _ update: Update) {
        guard let person = score == nil ? people.number(of: update.user) : people.add(update.user) else { return }
        var board = boards.removeValue(forKey: update.kind) ?? Board()
        defer { boards[update.kind] = board }
        let old = board.score(of: person)
        guard old != score else { return }
        if let old { board.order.remove(RankedBlocks.Entry(score: old, person: person), people) }
        if let score { board.order.insert(RankedBlocks.Entry(score: score, person: person), people) }
        board.note(score, of: person)
    }

    /// How many are on a board.
    public func total(_ kind: StreakKind) -> Int { boards[kind]?.order.count ?? 0 }

    /// A user's score; nil when they are not on the board.
    public func score(of user: UserID, _ kind: StreakKind) -> BoardScore? {
        people.number(of: user).flatMap { boards[kind]?.score(of: $0) }
    }

    /// A user's place, exact, in O(log n).
    public func standing(of user: UserID, _ kind: StreakKind) -> BoardStanding {
        guard let board = boards[kind], let person = people.number(of: user), let score = board.score(of: person) else {
            return BoardStanding(rank: nil, total: total(kind))
        }
        let ahead = board.order.ahead(of: RankedBlocks.Entry(score: score, person: person), people)
        return BoardStanding(rank: ahead + 1, total: board.order.count)
    }

    /// A user with a score.
    public struct Ranked: Hashable, Sendable {
        public let user: UserID
        public let score: BoardScore

        public init(user: UserID, score: BoardScore) { (self.user, self.score) = (user, score) }
    }

    /// The first of a board, in their order.
    public func first(_ wanted: Int, _ kind: StreakKind) -> [Ranked] {
        boards[kind]?.order.first(wanted).map { Ranked(user: people[$0.person], score: $0.score) } ?? []
    }

    /// The board of some users only, friends or a circle, in their order; those without a streak are absent.
    public func ranked(_ users: some Collection<UserID>, _ kind: StreakKind) -> [Ranked] {
        users.compactMap { user in score(of: user, kind).map { Ranked(user: user, score: $0) } }
            .sorted { $0.score == $1.score ? $0.user < $1.user : $0.score > $1.score }
    }
}
