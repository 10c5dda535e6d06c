import Kernel
import MediaAPI
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// What is shown of streaks besides lists (MS-5, MC-1).
struct StreakViewTests {
    let ann = StreaksWorld.person(1)
    let bob = StreaksWorld.person(2)
    let eve = StreaksWorld.person(3)

    private func detail(_ streak: StreakID, _ user: UserID, _ world: StreaksWorld) async throws -> StreakDetail {
        try await world.service.getStreak(GetStreakRequest(streakID: streak), context: StreaksWorld.by(user))
    }

    private func month(_ streak: StreakID, _ month: String?, _ world: StreaksWorld) async throws -> MonthCalendar {
        try await world.service.getCalendar(
            GetCalendarRequest(streakID: streak, month: month),
            context: StreaksWorld.by(ann)
        )
    }

    @Test func `the detail shows today's snaps as media lets them be seen, and waits for them no longer than 2 s`() async throws {
        try await withStreaks { world in
            let streak = try await world.start(ann, bob)
            let snap = MediaAPI.Snap(
                id: SnapID(high: 0, low: 1),
                userID: bob,
                photoURL: "/media/x",
                width: 400,
                caption: "Hi",
                onTime: true
            )
            world.others.state.withLock { $0.snaps = GetStreakSnapsReply(friendSnap: snap) }
            let open = try await detail(streak, ann, world)
            #expect(open.snapsAvailable && !open.locked)
            #expect(open.yourSnap == nil)
            #expect(
                open.friendSnap?.photoURL == "/media/x" && open.friendSnap?.caption == "Hi" && open.friendSnap?.onTime == true
            )
            let asked = try #require(world.others.state.withLock { $0.asked.first })
            #expect(asked.request.userID == ann && asked.request.friendID == bob)
            #expect("\(asked.request.yourDate) \(asked.request.friendDate)" == "2026-05-01 2026-05-01")
            #expect(asked.timeout <= .seconds(2))

            world.others.state.withLock { $0.snaps = GetStreakSnapsReply(locked: true) }
            let locked = try await detail(streak, ann, world)
            #expect(locked.snapsAvailable && locked.locked && locked.friendSnap == nil)
        }
    }

    @Test func `the first zone known of a user also holds for all time before it`() async throws {
        try await withWorld(at: "2026-05-01T11:30:00Z") { world in
            let ann = try await world.person(1, zone: "Pacific/Kiritimati")
            let ben = try await world.person(2, zone: "Pacific/Pago_Pago")
            let cat = try await world.person(3)
            for (one, two) in [(ann, ben), (ann, cat)] { try await world.befriend(one, two) }
            _ = try await world.database.execute("DELETE FROM zone_change WHERE user_id = \(cat)")
            func dates(of user: UserID) async throws -> [[String]] {
                try await world.service.reads.seen(.running, by: user, withPartners: false, now: world.clock.now())
                    .map { [$0.yourDate.description, $0.partnerDate.description] }
            }
            #expect(try await dates(of: ann) == [["2026-05-02", "2026-05-01"], ["2026-05-02", "2026-05-01"]])
            // A replica whose clock is behind.
            world.clock.set(moment("2026-05-01T10:30:00Z"))
            #expect(try await dates(of: ann) == [["2026-05-02", "2026-04-30"], ["2026-05-02", "2026-05-01"]])
            #expect(try await dates(of: ben) == [["2026-04-30", "2026-05-02"]])
        }
    }

    @Test func `without media the detail answers, and says that it knows no snaps`() async throws {
        try await withStreaks { world in
            let streak = try await world.start(ann, bob)
            try await world.post(bob, to: [streak])
            world.others.state.withLock { $0.snaps = nil }
            let detail = try await detail(streak, ann, world)
            #expect(!detail.snapsAvailable && !detail.locked && detail.yourSnap == nil && detail.friendSnap == nil)
            #expect(detail.calendar.count == 90)
            let today = CalendarDay(date: day("2026-05-01"), mark: .friend, completed: false, partnerCompleted: true)
            #expect(detail.calendar.last == today)
            #expect(detail.streak?.friendPostedToday == true)
            #expect(detail.photoCount == 1)
        }
    }

    @Test func `old months of a streak of ten years are whole, although its checkpoint hides them, and cost one fold`()
        async throws
    {
        try await withStreaks { world in
            let streak = try await world.start(ann, bob)
            try await world.fill(
                streak,
                ann,
                bob,
                days: 3_650,
                upTo: CalendarDate("2026-05-01") ?? Zone.utc.date(at: world.clock.now())
            )
            for user in [ann, bob] { try await world.post(user, to: [streak]) }
            #expect(try await world.database.query("SELECT 1 FROM streak_checkpoint").count == 1)
            let started = ContinuousClock.now
            for text in ["2016-06", "2020-02", "2026-04"] {
                let old = try await month(streak, text, world)
                #expect(old.completedDays == Int32(old.days.count) && old.days.allSatisfy { $0.mark == .both }, "\(text)")
            }
            // About 0.1 s each in a debug build; what grew with the square of the dates would need minutes.
            #expect(ContinuousClock.now - started < .seconds(30))
            #expect(try await month(streak, "2016-04", world).days.allSatisfy { $0.mark == .none })
            let present = try await month(streak, nil, world)
            #expect(present.month == "2026-05" && present.days.count == 31 && present.completedDays == 1)
            let data = try await world.service.getMilestoneData(
                GetMilestoneDataRequest(streakID: streak),
                context: StreaksWorld.by(ann)
            )
            #expect(data.currentCount == 3_651 && data.milestone == 3_600 && data.nextMilestone == 3_700)
            #expect(data.reached.count == 7 + 33)
            #expect(data.fromDate == day("2016-05-03") && data.toDate == day("2026-05-01"))
            #expect(data.text?.dates == "May 3, 2016 – May 1, 2026")
            #expect(data.text?.names == "@person.0001 & @person.0002")
        }
    }

    @Test func `a year of fifty streaks is one statement`() async throws {
        try await withStreaks { world in
            let today = Zone.utc.date(at: world.clock.now())
            try await world.database.execute(
                """
                INSERT INTO streak (id, kind, started_at, settled_at)
                SELECT gen_random_uuid(), 1, now(), now() FROM generate_series(1, 50)
                """
            )
            try await world.database.execute(
                """
                INSERT INTO streak_member (streak_id, user_id, joined_at)
                SELECT id, \(ann), now() FROM streak UNION ALL SELECT id, gen_random_uuid(), now() FROM streak
                """
            )
            // Ann posts everywhere on every date; the friends on every second.
            try await world.database.execute(
                """
                INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
                SELECT id, person, date '2025-01-01' + day, now(), now(), gen_random_uuid()
                FROM streak, unnest(members) AS person, generate_series(0, 364) AS day
                WHERE person = \(ann) OR day % 2 = 0
                """
            )
            func year(_ year: Int32?) async throws -> YearCalendar {
                try await world.service.getYearCalendar(GetYearCalendarRequest(year: year), context: StreaksWorld.by(ann))
            }
            let started = ContinuousClock.now
            let last = try await year(2025)
            // About 0.1 s; a statement for each date or streak would be fifty times that.
            #expect(ContinuousClock.now - started < .seconds(10))
            #expect(last.days.count == 365 && last.postedDates == 365 && last.completedDates == 183 && last.mostCompleted == 50)
            #expect(last.days[0] == YearDay(date: day("2025-01-01"), posted: 50, completed: 50))
            #expect(last.days[1] == YearDay(date: day("2025-01-02"), posted: 50, completed: 0))
            let present = try await year(nil)
            #expect(present.year == Int32(today.components.year) && present.postedDates == 244 && present.days.count == 365)
            #expect(present.days.last?.date == today, "the last 365 days, not the year")
            let stats = try await world.service.getStats(GetStatsRequest(), context: StreaksWorld.by(ann))
            // 2025-05-02 … 2025-12-31.
            #expect(stats.postedDatesInYear == 244)
            #expect(stats.weekdays.map(\.weekday) == [1, 2, 3, 4, 5, 6, 7])
            #expect(stats.weekdays.reduce(0) { $0 + $1.postedDates } == 244)
            #expect(stats.totalStreaks == 50 && stats.totalActiveStreaks == 50)
        }
    }

    @Test func `facts for a card: who is a member, what was reached and when`() async throws {
        try await withStreaks { world in
            let streak = try await world.start(ann, bob)
            func facts(_ user: UserID, _ milestone: Int32, _ id: StreakID) async throws -> GetMilestoneFactsReply {
                try await world.service.getMilestoneFacts(
                    GetMilestoneFactsRequest(userID: user, streakID: id, milestone: milestone),
                    context: StreaksWorld.by(user)
                )
            }
            #expect(
                try await facts(ann, 0, streak)
                    == GetMilestoneFactsReply(isMember: true, friendID: bob, emoji: "🔥", style: "orange"),
                "a card of two says by its people what it is about"
            )
            for _ in 1...15 {
                for user in [ann, bob] { try await world.post(user, to: [streak]) }
                world.clock.advance(by: .days(1))
            }
            world.clock.advance(by: .days(3))
            // Broken by now: what was reached stays reached.
            let week = try await facts(bob, 7, streak)
            #expect(week.isMember && week.isReached && week.milestone == 7 && week.currentCount == 15)
            #expect(week.fromDate == day("2026-05-01") && week.toDate == day("2026-05-07") && week.friendID == ann)
            #expect(try await facts(bob, 0, streak).milestone == 14)
            for wrong: Int32 in [8, 30] {
                let reply = try await facts(ann, wrong, streak)
                #expect(!reply.isReached && reply.milestone == wrong && reply.toDate == nil)
            }
            #expect(try await facts(eve, 7, streak) == GetMilestoneFactsReply())
            #expect(try await facts(ann, 7, StreakID(high: 1, low: 1)) == GetMilestoneFactsReply())
        }
    }

    private func end(_ streak: StreakID, _ world: StreaksWorld) async throws {
        let writer = world.service.writer
        try await world.work.run(trace: "", requestID: "") { work in
            for stored in try await writer.store.lock([streak], work.sql) { _ = try await writer.apply(.end, to: stored, work) }
        }
    }

    @Test func `what broke is counted, and by whom, also when it has ended since`() async throws {
        try await withStreaks { world in
            let streak = try await world.start(ann, bob)
            for user in [ann, bob] { try await world.post(user, to: [streak]) }
            world.clock.advance(by: .days(1))
            try await world.post(ann, to: [streak])
            world.clock.advance(by: .days(1))
            for (user, byYou) in [(ann, Int32(0)), (bob, 1)] {
                let stats = try await world.service.getStats(GetStatsRequest(), context: StreaksWorld.by(user))
                #expect(
                    stats.totalActiveStreaks == 0 && stats.brokenStreaks == 1 && stats.brokenByYou == byYou,
                    "reading settles"
                )
                #expect(stats.longestStreak == 1 && stats.longestActiveStreak == 0 && stats.completedDates == 1)
            }
            try await end(streak, world)
            // One that breaks and ends in the same step, and one that ends while it runs.
            let (missed, running) = (try await world.start(ann, bob), try await world.start(ann, eve))
            for user in [ann, bob] { try await world.post(user, to: [missed]) }
            for user in [ann, eve] { try await world.post(user, to: [running]) }
            try await end(running, world)
            world.clock.advance(by: .days(3))
            try await end(missed, world)
            for (user, breaks) in [(ann, [Int32(2), 0]), (bob, [2, 1]), (eve, [0, 0])] {
                let stats = try await world.service.getStats(GetStatsRequest(), context: StreaksWorld.by(user))
                #expect([stats.brokenStreaks, stats.brokenByYou] == breaks, "\(user)")
                #expect(stats.totalActiveStreaks == 0)
            }
            let newcomer = try await world.service.getStats(GetStatsRequest(), context: StreaksWorld.by(StreaksWorld.person(8)))
            #expect(newcomer.onTimePercent == nil && newcomer.bestWeekday == nil && newcomer.totalStreaks == 0)
        }
    }
}
