import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Outbox
@testable import StreaksAnalytics
@testable import StreaksCore

/// The figures, added up from events, against a recount of the whole ledgers (TS-5): with everything that keeps, breaks and mends a streak.
@Suite(.timeLimit(.minutes(10))) struct AnalyticsRecountTests {
    private static let kinds: [StreakKind] = [.checkIn, .recipeCreation]
    private static let each: UInt64 = 6
    private static let extensions = StreakExtensions(
        kinds: [SoloEvents(.checkIn, feature: "check-ins"), SoloEvents(.recipeCreation, feature: "typed")],
        followers: []
    )

    /// A streak and whose it is.
    private struct Life {
        let streak: StreakID
        let user: UserID
        let kind: StreakKind
        /// In percent: how often they do something.
        let zeal: Int
    }

    private struct Lives {
        let world: World
        let writer: StreakWriter
        var all: [Life] = []
        var random = Seeded(7)

        init(_ world: World) async throws {
            self.world = world
            writer = StreakWriter(database: world.database, AnalyticsRecountTests.extensions)
            for (index, kind) in AnalyticsRecountTests.kinds.enumerated() {
                for number in 0..<AnalyticsRecountTests.each {
                    let user = UserID(high: UInt64(index) + 1, low: number)
                    let streak = try await world.work.run(trace: "", requestID: "") { [writer] work in
                        try await writer.start(.init(kind, of: [user], key: user.description, freezes: 0), work)
                    }
                    all.append(Life(streak: streak, user: user, kind: kind, zeal: 96 - 5 * Int(number)))
                }
            }
        }

        mutating func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        /// Does it, or is refused.
        func attempt(_ life: Life, _ command: @escaping @Sendable (UnitOfWork) -> StreakCommand) async throws {
            do {
                try await world.work.run(trace: "", requestID: "") { [writer] work in
                    let stored = try #require(try await writer.store.lock([life.streak], work.sql).first)
                    try await writer.apply(command(work), to: stored, work)
                }
            } catch let refusal as ServiceError where refusal.code != .internal {}
        }

        /// A night and a day of one of them.
        mutating func live(_ life: Life, _ morning: Instant) async throws {
            let user = life.user
            let today = Zone.utc.date(at: morning)
            // What was done yesterday arrives at night.
            if happens(10) {
                let late = morning - .hours(4)
                try await attempt(life) { .contribute(user, receivedAt: $0.now, capturedAt: late) }
            }
            if happens(8) { try await attempt(life) { .protect(.shield, until: nil, id: $0.ids.make()) } }
            if happens(8) { try await attempt(life) { .protect(.insurance, until: $0.now + .days(7), id: $0.ids.make()) } }
            if happens(6) { try await attempt(life) { .grantFreezes(1, id: $0.ids.make()) } }
            if happens(15) { try await attempt(life) { _ in .freeze(today.advanced(by: -1)) } }
            if happens(3) { try await attempt(life) { _ in .freeze(today) } }
            if happens(40) { try await attempt(life) { .repair(user, id: $0.ids.make()) } }
            if happens(15) {
                let missed = today.advanced(by: -Int.random(in: 1...6, using: &random))
                try await attempt(life) { .fill(missed, by: user, id: $0.ids.make()) }
            }
            if happens(4) { try await attempt(life) { _ in .pause(until: today.advanced(by: 3)) } }
            if happens(life.zeal) { try await attempt(life) { .contribute(user, receivedAt: $0.now, capturedAt: nil) } }
        }
    }

    @Test func `Sixty days of freezes, repairs, fills, shields, pauses, ends, returns: the figures are those of the ledgers`()
        async throws
    {
        try await withWorld(at: "2026-01-05T03:00:00Z") { world in
            var lives = try await Lives(world)
            let writer = lives.writer
            let first = Zone.utc.date(at: world.clock.now())
            var position: Int64 = 0
            for number in 0..<60 {
                // Every third night nothing settles, and the figures fall behind: what follows is late and comes in one batch.
                if number % 3 != 0 { try await settle(lives) }
                for life in lives.all { try await lives.live(life, world.clock.now()) }
                if number == 30 {
                    let user = lives.all[1].user
                    try await lives.attempt(lives.all[1]) { _ in .breakOff(by: user) }
                    try await lives.attempt(lives.all[2]) { _ in .end }
                    try await lives.attempt(lives.all[8]) { _ in .end }
                    try await lives.attempt(lives.all[3]) { _ in .end }
                    try await lives.attempt(lives.all[3]) { _ in .reopen }
                }
                // An account that comes back after ten days.
                if number == 40 { try await lives.attempt(lives.all[8]) { _ in .reopen } }
                if number % 4 == 0 { try await AnalyticsFeed.catchUp(world, writer.store, &position) }
                world.clock.advance(by: .days(1))
            }
            try await settle(lives)
            try await AnalyticsFeed.catchUp(world, writer.store, &position)
            for kind in Self.kinds { try await expectRecount(kind, lives, since: first) }
            // An account that is purged leaves its sums behind, and nothing that runs.
            let gone = lives.all[0]
            try await lives.attempt(gone) { _ in .end }
            try await AnalyticsFeed.catchUp(world, writer.store, &position)
            lives.all = lives.all.filter { $0.streak != gone.streak }
            try await expectLevels(.checkIn, try await stored(.checkIn, lives), world)
        }
    }

    private func settle(_ lives: Lives) async throws {
        let (writer, ids) = (lives.writer, lives.all.map(\.streak))
        try await lives.world.work.run(trace: "", requestID: "") { work in
            _ = try await writer.settle(try await writer.store.lock(ids, work.sql), work)
        }
    }

    private struct Folded {
        let stored: StoredStreak
        let state: StreakState
        var runs: [StreakRun] { StreakRun.all(stored.ledger, state, restored: []) }
    }

    private func stored(_ kind: StreakKind, _ lives: Lives) async throws -> [Folded] {
        let ids = lives.all.filter { $0.kind == kind }.map(\.streak)
        return try await lives.writer.store.load(ids, isWhole: true).map { stored in
            Folded(stored: stored, state: fold(stored.ledger, lives.writer.policy(for: kind), at: stored.row.settledAt))
        }
    }

    private func report(_ kind: StreakKind, _ from: CalendarDate?, _ world: World) async throws -> GetStreakAnalyticsReply {
        let today = Zone.utc.date(at: world.clock.now())
        return try await AnalyticsReport(database: world.database, clock: world.clock)
            .reply(to: GetStreakAnalyticsRequest(from: from ?? today, to: today, type: kind.typeName))
    }

    private func expectRecount(_ kind: StreakKind, _ lives: Lives, since first: CalendarDate) async throws {
        let folded = try await stored(kind, lives)
        let reply = try await report(kind, first, lives.world)
        let log = folded.flatMap(\.state.log)
        for day in reply.days {
            let completed = log.count { if case .completed(day.date, _, _) = $0 { true } else { false } }
            let filled = log.count { if case .filled(day.date, _, _) = $0 { true } else { false } }
            let frozen = log.count { if case .freezeSpent(day.date, _, _, _) = $0 { true } else { false } }
            let byHand = log.count { if case .freezeSpent(day.date, _, _, byHand: true) = $0 { true } else { false } }
            let kept = log.count { if case .protectionSpent(day.date, _, _) = $0 { true } else { false } }
            #expect(day.active == Int64(completed), "\(kind) \(day.date)")
            #expect(day.extended == Int64(completed + filled + frozen), "\(kind) \(day.date)")
            #expect(day.freezesUsed == Int64(frozen) && day.freezesByHand == Int64(byHand), "\(kind) \(day.date)")
            #expect(day.protectionsUsed == Int64(kept), "\(kind) \(day.date)")
        }
        // Every break was undone or still stands.
        let runs = folded.flatMap(\.runs)
        let standing = runs.count { $0.reason == .missed || $0.reason == .moderation }
        #expect(reply.days.map { $0.broken - $0.restored }.reduce(0, +) == Int64(standing), "\(kind)")
        #expect(reply.days.map(\.restored).reduce(0, +) > 0 && standing > 0, "\(kind): both happened")
        try await expectRuns(kind, folded, lives.world)
        try await expectLevels(kind, folded, lives.world)
    }

    private struct Run: Hashable {
        let streak: StreakID
        let start: CalendarDate
        let missed: CalendarDate?
    }

    /// The runs behind the cohorts; how a run ended that missed no date is not compared.
    private func expectRuns(_ kind: StreakKind, _ folded: [Folded], _ world: World) async throws {
        var expected: [StreakID: [StreakRun]] = [:]
        for one in folded { expected[one.stored.row.id] = one.runs }
        let rows = try await world.database.query(
            "SELECT streak_id, run_start, broken_on FROM analytics_run WHERE kind = \(kind.rawValue) ORDER BY streak_id, run_start"
        )
        let stored = try rows.map { row in
            let (streak, start, broken) = try row.decode(as: (StreakID.self, CalendarDate.self, CalendarDate?.self))
            let run = expected[streak]?.first { $0.start == start }
            let isDecided = run?.reason == .moderation || run?.reason == .ended
            #expect(!isDecided || broken != nil, "\(kind) \(start)")
            return Run(streak: streak, start: start, missed: isDecided ? nil : broken)
        }
        let wanted = expected.flatMap { streak, runs in runs.map { Run(streak: streak, start: $0.start, missed: $0.missed) } }
        #expect(Set(stored) == Set(wanted) && stored.count == wanted.count, "\(kind)")
    }

    private func expectLevels(_ kind: StreakKind, _ folded: [Folded], _ world: World) async throws {
        let shown = try #require(try await report(kind, nil, world).days.first)
        let alive = folded.map(\.state).filter { $0.status != .ended }
        let counts = alive.filter { $0.status == .active && $0.count > 0 }.map(\.count)
        #expect(shown.running == Int64(counts.count) && shown.streaks == Int64(alive.count), "\(kind)")
        #expect(shown.runningAt7 == Int64(counts.count { $0 >= 7 }) && shown.runningAt30 == Int64(counts.count { $0 >= 30 }))
        let sum = Int64(counts.reduce(0, +))
        #expect(shown.averageStreak == AnalyticsFigures.mean(sum, of: shown.running), "\(kind)")
    }
}
