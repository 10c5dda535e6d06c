import BillingAPI
import Database
import Foundation
import Kernel
import NotificationsAPI
import Replicas
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import Wire

@testable import Outbox
@testable import StreaksAnalytics
@testable import StreaksCore

/// The figures against a recount of the ledger (TS-5).
struct AnalyticsServiceTests {
    /// Check-ins without freezes: then runs follow from the dates alone.
    private static let extensions: StreakExtensions = {
        var policy = StreakPolicy.checkIn
        policy.freezes = nil
        return StreakExtensions(
            policies: StreakPolicies(replacing: [.checkIn: policy]),
            kinds: [SoloEvents(.checkIn, feature: "checkins")],
            followers: []
        )
    }()

    private func report(_ world: World, _ from: CalendarDate, _ to: CalendarDate) async throws -> GetStreakAnalyticsReply {
        try await AnalyticsReport(database: world.database, clock: world.clock)
            .reply(to: GetStreakAnalyticsRequest(from: from, to: to, type: "check_in"))
    }

    /// A run as the dates of contributions show it.
    private struct Run {
        let start: CalendarDate
        /// The first date without a contribution.
        let end: CalendarDate
        var length: Int { start.distance(to: end) }
    }

    private func runs(_ world: World) async throws -> [Run] {
        var runs: [Run] = []
        var last: (streak: StreakID, start: CalendarDate, next: CalendarDate)?
        for row in try await world.database.query("SELECT streak_id, on_date FROM contribution ORDER BY streak_id, on_date") {
            let (streak, date) = try row.decode(as: (StreakID.self, CalendarDate.self))
            if let open = last, open.streak == streak, open.next == date {
                last = (streak, open.start, date.advanced(by: 1))
            } else {
                if let open = last { runs.append(Run(start: open.start, end: open.next)) }
                last = (streak, date, date.advanced(by: 1))
            }
        }
        if let open = last { runs.append(Run(start: open.start, end: open.next)) }
        return runs
    }

    @Test func `Forty days of random lives: every figure is that of a recount`() async throws {
        try await withWorld(at: "2026-01-05T12:00:00Z") { world in
            let writer = StreakWriter(database: world.database, Self.extensions)
            let first = Zone.utc.date(at: world.clock.now())
            var streaks: [StreakID] = []
            for number in 1...10 as ClosedRange<UInt64> {
                let user = UserID(high: 1, low: number)
                streaks.append(
                    try await world.work.run(trace: "", requestID: "") { work in
                        try await writer.start(.init(.checkIn, of: [user], key: user.description), work)
                    }
                )
            }
            var dice: UInt64 = 42
            var position: Int64 = 0
            for _ in 0..<40 {
                try await world.work.run(trace: "", requestID: "") { [streaks] work in
                    _ = try await writer.settle(try await writer.store.lock(streaks, work.sql), work)
                }
                for (index, streak) in streaks.enumerated() {
                    dice = dice &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    // The first never misses; the others more and more often.
                    guard Int(dice >> 33 % 30) >= index else { continue }
                    let user = UserID(high: 1, low: UInt64(index + 1))
                    try await world.work.run(trace: "", requestID: "") { work in
                        let stored = try #require(try await writer.store.lock([streak], work.sql).first)
                        _ = try await writer.apply(.contribute(user, receivedAt: work.now, capturedAt: nil), to: stored, work)
                    }
                }
                try await AnalyticsFeed.catchUp(world, writer.store, &position)
                try await expectLevels(world)
                world.clock.set(world.clock.now() + .days(1))
            }
            try await world.work.run(trace: "", requestID: "") { [streaks] work in
                _ = try await writer.settle(try await writer.store.lock(streaks, work.sql), work)
            }
            try await AnalyticsFeed.catchUp(world, writer.store, &position)
            try await expectLevels(world)
            try await expectHistory(world, from: first)
        }
    }

    @Test(arguments: [true, false])
    func `What arrives after a day has closed changes that day: levels by date are those of the runs`(
        isLate: Bool
    ) async throws {
        try await withWorld(at: "2026-01-05T03:00:00Z") { world in
            let writer = StreakWriter(database: world.database, Self.extensions)
            let first = Zone.utc.date(at: world.clock.now())
            var random = Seeded(isLate ? 3 : 4)
            var position: Int64 = 0
            var streaks: [(id: StreakID, user: UserID)] = []
            for number in 1...8 as ClosedRange<UInt64> {
                let user = UserID(high: 1, low: number)
                let id = try await world.work.run(trace: "", requestID: "") { work in
                    try await writer.start(.init(.checkIn, of: [user], key: user.description), work)
                }
                streaks.append((id, user))
            }
            for _ in 0..<45 {
                // At 03:00 the date before is judged; at 04:00 and at 08:00 photos of it arrive, after some of the new date's.
                try await world.work.run(trace: "", requestID: "") { [streaks] work in
                    _ = try await writer.settle(try await writer.store.lock(streaks.map(\.id), work.sql), work)
                }
                if isLate { try await AnalyticsFeed.catchUp(world, writer.store, &position) }
                for hour in [Int64(4), 6, 8] {
                    let now = world.clock.now() + .hours(hour - 3)
                    for (id, user) in streaks where Int.random(in: 0..<100, using: &random) < (hour == 6 ? 60 : isLate ? 35 : 0) {
                        let captured = hour == 6 ? now : now - .hours(hour + 1)
                        try await world.work.run(trace: "", requestID: "") { work in
                            let stored = try #require(try await writer.store.lock([id], work.sql).first)
                            let command = StreakCommand.contribute(user, receivedAt: now, capturedAt: captured)
                            do { try await writer.apply(command, to: stored, work) } catch let refusal as ServiceError
                                where refusal.reason == "ALREADY_POSTED"
                            {}
                        }
                    }
                    if isLate { try await AnalyticsFeed.catchUp(world, writer.store, &position) }
                }
                // A job that is behind: what it reads is of several dates.
                if !isLate && Int.random(in: 0..<3, using: &random) == 0 {
                    try await AnalyticsFeed.catchUp(world, writer.store, &position)
                }
                world.clock.advance(by: .days(1))
            }
            try await AnalyticsFeed.catchUp(world, writer.store, &position)
            let runs = try await runs(world)
            let days = try await report(world, first, Zone.utc.date(at: world.clock.now()).advanced(by: -3)).days
            for day in days {
                let counts = runs.filter { $0.start <= day.date && day.date < $0.end }.map { $0.start.distance(to: day.date) + 1 }
                #expect(day.running == Int64(counts.count) && day.runningAt7 == Int64(counts.count { $0 >= 7 }), "\(day.date)")
                let sum = Int64(counts.reduce(0, +))
                #expect(day.averageStreak == AnalyticsFigures.mean(sum, of: day.running), "\(day.date)")
            }
            #expect(!isLate || days.contains { $0.restoredLate > 0 })
            #expect(days.contains { $0.runningAt7 > 0 })
        }
    }

    /// What runs now, and what every streak ever had, from the streaks' rows.
    private func expectLevels(_ world: World) async throws {
        let today = Zone.utc.date(at: world.clock.now())
        let shown = try #require(try await report(world, today, today).days.first)
        let row = try #require(
            try await world.database.query(
                """
                SELECT count(*) FILTER (WHERE current_count > 0), coalesce(sum(current_count), 0)::bigint,
                    count(*) FILTER (WHERE current_count >= 7), count(*) FILTER (WHERE current_count >= 30),
                    count(*) FILTER (WHERE longest_count BETWEEN 7 AND 29) FROM streak
                """
            ).first
        )
        let (running, sum, at7, at30, long) = try row.decode(as: (Int64.self, Int64.self, Int64.self, Int64.self, Int64.self))
        #expect(shown.running == running && shown.runningAt7 == at7 && shown.runningAt30 == at30)
        #expect(shown.averageStreak == AnalyticsFigures.mean(sum, of: running))
        #expect(shown.longest.first { $0.from == 7 }?.streaks == long)
        #expect(shown.longest.map(\.streaks).reduce(0, +) == 10)
    }

    /// What happened on each date, from the contributions.
    private func expectHistory(_ world: World, from first: CalendarDate) async throws {
        let today = Zone.utc.date(at: world.clock.now())
        let reply = try await report(world, first, today)
        let runs = try await runs(world)
        var active: [CalendarDate: Int64] = [:]
        for row in try await world.database.query("SELECT on_date, count(*) FROM contribution GROUP BY on_date") {
            let (date, count) = try row.decode(as: (CalendarDate.self, Int64.self))
            active[date] = count
        }
        let ended = runs.filter { $0.end < today }
        for day in reply.days {
            #expect(day.active == active[day.date] ?? 0 && day.extended == day.active, "\(day.date)")
            #expect(day.runsStarted == Int64(runs.count { $0.start == day.date }), "\(day.date)")
            #expect(day.broken == Int64(ended.count { $0.end == day.date }), "\(day.date)")
            #expect(day.brokenAt7 == Int64(ended.count { $0.end == day.date && $0.length >= 7 }), "\(day.date)")
        }
        #expect(reply.days.map(\.started).reduce(0, +) == 10)
        let totals = try #require(reply.totals.first)
        #expect(totals.broken == Int64(ended.count) && totals.brokenByWeekday.reduce(0, +) == totals.broken)
        for weekday in 1...7 {
            #expect(totals.brokenByWeekday[weekday - 1] == Int64(ended.count { $0.end.isoWeekday == weekday }))
        }
        #expect(totals.brokenByHour.reduce(0, +) == totals.broken && totals.recoveryRate == 0)
        for cohort in reply.cohorts {
            let started = runs.filter { $0.start.advanced(by: 1 - $0.start.isoWeekday) == cohort.week }
            #expect(cohort.started == Int64(started.count))
            guard cohort.week.advanced(by: 13) < today else { continue }
            #expect(cohort.runningAfter7 == Int64(started.count { $0.start.advanced(by: 7) < $0.end || $0.end >= today }))
        }
        #expect(reply.cohorts.map(\.started).reduce(0, +) == Int64(runs.count))
        let csv = AnalyticsCSV.text(reply.days).split(separator: "\r\n")
        #expect(csv.count == reply.days.count + 1 && csv[0].hasPrefix("date,type,active,started,"))
        #expect(Set(csv.map { $0.split(separator: ",", omittingEmptySubsequences: false).count }).count == 1)
    }

    @Test func `A conversion counts by the streaks that ran, once, and a sale by its item`() async throws {
        try await withWorld(at: "2026-01-05T12:00:00Z") { world in
            let (user, today) = (UserID(high: 1, low: 1), Zone.utc.date(at: world.clock.now()))
            let streak = StreakID(high: 2, low: 1)
            try await world.database.execute(
                """
                INSERT INTO streak (id, kind, started_at, status, current_count, longest_count, settled_at)
                VALUES (\(streak), \(StreakKind.checkIn.rawValue), \(world.clock.now()), 1, 31, 31, \(world.clock.now()))
                """
            )
            try await world.database.execute(
                "INSERT INTO streak_member (streak_id, user_id, joined_at) VALUES (\(streak), \(user), \(world.clock.now()))"
            )
            for (version, plan) in [(1, Plan.free), (2, .premium), (3, .premium), (2, .premium), (4, .free)] {
                try await world.consume(
                    EntitlementsChanged(userID: user, version: Int64(version), plan: plan, expiresAt: nil),
                    by: BillingConsumers.all
                )
            }
            let purchase = PurchaseCompleted(
                userID: user,
                purchaseID: PurchaseID(high: 3, low: 3),
                item: "freeze",
                title: "1 freeze",
                quantity: 1,
                priceMilli: 990,
                currency: "USD",
                purchasedAt: world.clock.now()
            )
            for _ in 0..<2 { try await world.consume(purchase, by: BillingConsumers.all) }
            _ = try await FigureJob(store: world.service.store, work: world.work).addFacts()
            let reply = try await report(world, today, today)
            let day = try #require(reply.days.first)
            #expect(day.conversions == 1 && day.conversionsAt7 == 1 && day.conversionsAt30 == 1)
            #expect(reply.sales.map(\.item) == ["freeze"] && reply.sales.map(\.usdMilli) == [1_980])
            #expect(reply.sales.map(\.purchases) == [2] && reply.sales.map(\.firstPurchases) == [1], "one buyer")
            let error = await #expect(throws: ServiceError.self) { try await report(world, today, today.advanced(by: -1)) }
            #expect(error?.reason == "INVALID_RANGE")
        }
    }

    @Test func `What becomes of notifications counts on the day on which they were written`() async throws {
        try await withWorld(at: "2026-01-05T12:00:00Z") { world in
            let (today, before) = (day("2026-01-05"), day("2026-01-04"))
            let deliveries = [
                DeliveryCount(kind: .streakAtRisk, date: before, pushed: 8, sent: 10, received: 0, failed: 1),
                DeliveryCount(kind: .milestone, date: today, pushed: 1, sent: 1),
            ]
            try await world.consume(
                NotificationDelivered(batchID: OperationID(high: 1, low: 1), at: world.clock.now(), counts: deliveries),
                by: NotificationConsumers.all
            )
            // The receipts come later.
            let receipts = [DeliveryCount(kind: .streakAtRisk, date: before, received: 9)]
            try await world.consume(
                NotificationDelivered(batchID: OperationID(high: 1, low: 2), at: world.clock.now(), counts: receipts),
                by: NotificationConsumers.all
            )
            for (all, opened) in [(false, Int32(3)), (true, 2)] {
                let counts = [OpenedCount(kind: .streakAtRisk, date: before, opened: opened, pushed: 2)]
                try await world.consume(
                    NotificationOpened(userID: UserID(high: 1, low: 1), openedAt: world.clock.now(), counts: counts, all: all),
                    by: NotificationConsumers.all
                )
            }
            while try await FigureJob(store: world.service.store, work: world.work).addFacts() > 0 {}
            let reply = try await report(world, before, today)
            #expect(reply.notifications.map(\.kind) == ["streak_at_risk", "milestone"])
            let risk = try #require(reply.notifications.first)
            #expect(risk.date == before && risk.pushed == 8 && risk.sent == 10 && risk.received == 9 && risk.failed == 1)
            #expect(risk.opened == 3 && risk.openedPushed == 2 && risk.markedRead == 2)
            #expect(risk.engagementRate == 25 && risk.deliveryRate == 90)
            #expect(reply.notificationTotals.map(\.kind) == ["milestone", "streak_at_risk"])
            #expect(reply.notificationTotals.allSatisfy { $0.date == nil } && reply.notificationTotals.last?.opened == 3)
            #expect(try await report(world, today, today).notifications.map(\.kind) == ["milestone"])
        }
    }

    @Test func `A report after the check-in counts once a date, as the share of users who come back`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let life = try await CheckInWorld(world)
            _ = try await life.log(LogTrackingRequest(notes: "nothing that counts"))
            try await life.checkIn()
            for _ in 0..<3 { try await life.checkIn(5) }
            world.clock.advance(by: .days(1))
            try await life.checkIn()
            #expect(try await world.events(CheckInUpdated.self).map(\.date) == [day("2026-05-01")])
            var position: Int64 = 0
            try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            let reply = try await report(world, day("2026-05-01"), day("2026-05-02"))
            #expect(reply.days.map(\.active) == [1, 1] && reply.days.map(\.updated) == [1, 0])
            #expect(reply.days.map(\.updateRate) == [100, 0] && reply.totals.first?.updateRate == 50)
        }
    }

    @Test func `The CSV has the columns that are documented, and no cell that a spreadsheet would calculate`() throws {
        var busy = StreakAnalyticsDay(date: day("2026-01-05"), type: "check_in")
        (busy.active, busy.running, busy.averageStreak, busy.shareAt7) = (3, 4, 12.5, 33.3)
        busy.milestones = [MilestoneFigure(count: 7, reached: 1)]
        busy.longest = StreakGauge.ranges.map { LongestFigure(from: $0, streaks: 1) }
        let text = AnalyticsCSV.text([busy, StreakAnalyticsDay(date: day("2026-01-06"), type: "daily_snap")])
        let lines = text.components(separatedBy: "\r\n").dropLast()
        #expect(lines.count == 3 && Set(lines.map { $0.components(separatedBy: ",").count }).count == 1)
        for cell in lines.flatMap({ $0.components(separatedBy: ",") }) {
            #expect(cell.wholeMatch(of: /[a-z][a-z0-9_]*|[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}|/) != nil, "\(cell)")
        }
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "deploy/docs/analytics.md"), encoding: .utf8)
        for column in try #require(lines.first).components(separatedBy: ",") {
            let name = column.replacing(/[0-9]+$/, with: "N")
            #expect(page.contains("`\(column)`") || page.contains("`\(name)`"), "\(column) is not described")
        }
    }
}
