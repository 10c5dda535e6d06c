import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Leaderboards in memory against plain sorting (CI-7).
struct BoardTests {
    /// A small deterministic generator.
    private struct Dice {
        var state: UInt64

        mutating func roll(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % sides
        }
    }

    private func person(_ number: Int) -> UserID { UserID(high: UInt64(number % 3), low: UInt64(number)) }

    private func sorted(_ scores: [UserID: BoardScore]) -> [UserID] {
        scores.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }.map(\.key)
    }

    @Test func `The greater count leads, then the greater longest, then the earlier run`() {
        let day = CalendarDate(dayNumber: 20_000)
        let ranked = [
            BoardScore(count: 10, longest: 10, runStart: day), BoardScore(count: 9, longest: 90, runStart: day),
            BoardScore(count: 9, longest: 80, runStart: day.advanced(by: -1)), BoardScore(count: 9, longest: 80, runStart: day),
            BoardScore(count: 9, longest: 80, runStart: nil), BoardScore(count: 1, longest: 65_535, runStart: day),
        ]
        for (better, worse) in zip(ranked, ranked.dropFirst()) { #expect(better > worse) }
        #expect(ranked[1].count == 9 && ranked[1].longest == 90)
        // Before 1970, too; and counts beyond any life stay the greatest.
        #expect(
            BoardScore(count: 3, longest: 3, runStart: CalendarDate(dayNumber: -5))
                > BoardScore(count: 3, longest: 3, runStart: CalendarDate(dayNumber: 5))
        )
        #expect(BoardScore(count: 70_000, longest: 70_000, runStart: day).count == 65_535)
    }

    @Test func `Percentile and average are rounded half up to one decimal`() {
        #expect(BoardStanding(rank: 12, total: 1_234).percentile == 99.0)
        #expect(BoardStanding(rank: 1, total: 1).percentile == 0)
        #expect(BoardStanding(rank: 1, total: 3).percentile == 66.7)
        #expect(BoardStanding(rank: nil, total: 9).percentile == nil)
        #expect(averageStreak([]) == 0 && averageStreak([1, 2]) == 1.5 && averageStreak([0, 0, 1]) == 0.3)
    }

    /// Few different scores among many users: long ties, blocks of one score, splits and merges.
    @Test(arguments: TestDepth.seeds(quick: 4, full: 40))
    func `Random changes: every rank, total and first page is that of sorting`(seed: UInt64) {
        var dice = Dice(state: seed)
        let people = 3_000
        let spread = [2, 20, 400][Int(seed % 3)]
        func score() -> BoardScore? {
            let count = dice.roll(spread)
            guard count > 0 else { return nil }
            let start = CalendarDate(dayNumber: Int32(20_000 - dice.roll(3)))
            return BoardScore(count: count, longest: count + dice.roll(2), runStart: start)
        }
        var truth: [UserID: BoardScore] = [:]
        var updates: [Leaderboards.Update] = []
        for number in 0..<people / 2 {
            let score = score()
            truth[person(number)] = score
            updates.append(Leaderboards.Update(kind: .checkIn, user: person(number), score: score))
        }
        var boards = Leaderboards(updates)
        for round in 0..<12 {
            // Rounds in which most leave, and such in which most come: blocks become small and grow again.
            let leaving = round % 4 == 3
            let batch = (0..<1_500).map { _ -> Leaderboards.Update in
                let score = leaving && dice.roll(5) > 0 ? nil : score()
                return Leaderboards.Update(kind: .checkIn, user: person(dice.roll(people)), score: score)
            }
            // One user once a batch, as the store has it.
            var latest: [UserID: Leaderboards.Update] = [:]
            for update in batch { latest[update.user] = update }
            for update in latest.values { truth[update.user] = update.score }
            boards.apply(Array(latest.values))
            let order = sorted(truth)
            #expect(boards.total(.checkIn) == order.count)
            #expect(boards.first(100, .checkIn).map(\.user) == Array(order.prefix(100)))
            for (index, user) in order.enumerated() {
                #expect(boards.standing(of: user, .checkIn) == BoardStanding(rank: index + 1, total: order.count))
            }
            for number in 0..<people where truth[person(number)] == nil {
                #expect(boards.standing(of: person(number), .checkIn).rank == nil)
            }
            let some = (0..<50).map { _ in person(dice.roll(people)) }
            let group = boards.ranked(Set(some), .checkIn).map(\.user)
            #expect(group == order.filter(Set(some).contains))
        }
    }

    @Test func `A cohort that grows by one at a midnight keeps its order, and building at once gives the same`() {
        let day = CalendarDate(dayNumber: 20_000)
        func update(_ number: Int, _ count: Int) -> Leaderboards.Update {
            let score = count == 0 ? nil : BoardScore(count: count, longest: max(5, count), runStart: day)
            return Leaderboards.Update(kind: .checkIn, user: person(number), score: score)
        }
        var boards = Leaderboards((0..<4_000).map { update($0, 1) })
        for number in 0..<4_000 { boards.apply([update(number, number % 3 == 0 ? 0 : 2)]) }
        let built = Leaderboards((0..<4_000).map { update($0, $0 % 3 == 0 ? 0 : 2) })
        #expect(boards.first(5_000, .checkIn) == built.first(5_000, .checkIn))
        #expect(boards.total(.checkIn) == built.total(.checkIn) && built.total(.dailySnap) == 0)
        #expect(boards.standing(of: person(1), .dailySnap) == BoardStanding(rank: nil, total: 0))
    }

    @Test func `A streak that has ended does not hide the next one of the same user`() {
        var boards = Leaderboards()
        let next = BoardScore(count: 1, longest: 1, runStart: nil)
        boards.apply([
            Leaderboards.Update(kind: .checkIn, user: person(1), score: next),
            Leaderboards.Update(kind: .checkIn, user: person(1), score: nil),
        ])
        #expect(boards.score(of: person(1), .checkIn) == next)
    }

    @Test func `Badges and flames go by the longest streak`() {
        #expect(ShownBadge.title(longest: 0) == nil && ShownBadge.title(longest: 1) == "Fresh Start")
        #expect(ShownBadge.title(longest: 156) == "Centurion" && ShownBadge.title(longest: 365) == "Annual Legend")
        #expect(
            [49, 50, 99, 100, 180].map { ShownBadge.flame(longest: $0) } == ["orange", "gold", "gold", "diamond", "rainbow"]
        )
    }
}

/// Reading an append-only table whose rows appear out of order.
struct BoardFeedPositionTests {
    private typealias Snapshot = FeedPosition.Snapshot

    @Test func `A position that appears late is found, and one that never comes is given up when none can fill it`() {
        var place = FeedPosition(last: 10, missing: [3...5], Snapshot(oldestRunning: 90, next: 100))
        #expect(place.gaps == [FeedPosition.Gap(first: 3, last: 5, before: 100)])
        place.read([12, 15], Snapshot(oldestRunning: 95, next: 110))
        #expect(place.last == 15)
        #expect(
            Set(place.gaps) == [
                .init(first: 3, last: 5, before: 100), .init(first: 11, last: 11, before: 110),
                .init(first: 13, last: 14, before: 110),
            ]
        )
        // 4 and 13 were committed; 3 and 5 belong to transactions that may still run.
        place.read([4, 13], Snapshot(oldestRunning: 99, next: 120))
        #expect(
            Set(place.gaps) == [
                .init(first: 3, last: 3, before: 100), .init(first: 5, last: 5, before: 100),
                .init(first: 11, last: 11, before: 110), .init(first: 14, last: 14, before: 110),
            ]
        )
        // All that began before 110 have ended; what they left is in what was read.
        place.read([16], Snapshot(oldestRunning: 110, next: 121))
        #expect(place.gaps.isEmpty && place.last == 16)
    }

    /// Transactions take positions and commit or roll back in any order; the reader must see every committed position once or more.
    @Test(arguments: TestDepth.seeds(quick: 20, full: 200)) func `Nothing committed is missed`(seed: UInt64) {
        var state = seed
        func roll(_ sides: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % sides
        }
        var running: [Int64: Int64] = [:]
        var (nextID, nextPosition): (Int64, Int64) = (1, 1)
        var committed: Set<Int64> = []
        var seen: Set<Int64> = []
        var place = FeedPosition(last: 0, missing: [], Snapshot(oldestRunning: 1, next: 1))
        for _ in 0..<2_000 {
            switch roll(4) {
            case 0, 1:
                running[nextID] = nextPosition
                (nextID, nextPosition) = (nextID + 1, nextPosition + 1)
            case 2:
                guard let id = running.keys.sorted().dropFirst(Int(roll(UInt64(max(1, running.count))))).first else { break }
                if let position = running.removeValue(forKey: id), roll(5) > 0 { committed.insert(position) }
            default:
                let found = committed.filter { position in
                    position > place.last || place.gaps.contains { $0.first <= position && position <= $0.last }
                }
                seen.formUnion(found)
                place.read(Array(found), Snapshot(oldestRunning: running.keys.min() ?? nextID, next: nextID))
                #expect(seen == committed)
            }
        }
    }
}
