import Kernel
import MediaAPI
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksTyped

/// Typed streaks: activities, coins, history, calendar (TS-1, TS-2).
struct TypedTests {
    @Test func `an activity counts once a date, and the week's coins are those of the rules`() async throws {
        try await withTyped { world in
            let first = try await world.record()
            #expect(first.streak?.currentStreak == 1 && !first.alreadyRecorded && first.coinsEarned == 10)
            let again = try await world.record()
            #expect(again.alreadyRecorded && again.coinsEarned == 0 && again.date == first.date)
            #expect(again.streak?.totalDaysActive == 1)
            try await world.recordDaily(6...11)
            let streak = try await world.streak()
            #expect(streak.currentStreak == 7 && streak.totalDaysActive == 7 && streak.isActive && streak.doneToday)
            #expect(streak.fireEmoji == "🔥🔥🔥" && streak.multiplier == 1.1 && streak.nextMilestone?.days == 14)
            #expect(streak.streakStartDate == day("2026-01-05") && streak.lastActivityDate == day("2026-01-11"))
            // Until the end of the 12th.
            #expect(streak.hoursUntilBreak == 36 && streak.daysUntilBreak == 36)
            let coins = try await world.coins()
            #expect(coins.count == 9 && coins.values.reduce(0, +) == 6 * 10 + 11 + 10 + 50)
            #expect(try await XPLedger.account(of: world.ann, world.database).lifetime == 130)
        }
    }

    @Test func `all five are listed, also before they begin`() async throws {
        try await withTyped { world in
            let all = try await ListTyped(views: world.views).handle(ListTypedRequest(), world.context).streaks
            #expect(all.map(\.type) == StreakKind.typed.map(\.typeName))
            #expect(all.allSatisfy { $0.id == nil && $0.currentStreak == 0 && $0.hoursUntilBreak == nil && !$0.insuranceActive })
            #expect(all.map(\.displayName).first == "Daily Snap" && all.map(\.freeDatesLeft) == [1, 1, 1, 1, 1])
        }
    }

    @Test func `snaps and shared cards count by themselves`() async throws {
        try await withTyped { world in
            for streak in [StreakID(high: 7, low: 1), StreakID(high: 7, low: 2)] {
                try await world.consume(
                    SnapCounted(
                        streakID: streak,
                        userID: world.ann,
                        friendID: UserID(high: 1, low: 2),
                        date: day("2026-01-05"),
                        countedAt: world.clock.now(),
                        receivedAt: world.clock.now()
                    )
                )
            }
            try await world.consume(
                CardShared(
                    userID: world.ann,
                    milestoneID: MilestoneCardID(high: 8, low: 8),
                    platform: "x",
                    sharedAt: world.clock.now()
                )
            )
            #expect(try await world.streak(.dailySnap).totalDaysActive == 1)
            #expect(try await world.streak(.socialShare).currentStreak == 1)
            #expect(try await world.streak(.recipeCreation).currentStreak == 0)
        }
    }

    /// A counted snap of the test's user.
    private func snap(_ date: String, receivedAt: String) -> SnapCounted {
        SnapCounted(
            streakID: StreakID(high: 7, low: 1),
            userID: UserID(high: 1, low: 1),
            friendID: UserID(high: 1, low: 2),
            date: day(date),
            countedAt: moment(receivedAt),
            receivedAt: moment(receivedAt)
        )
    }

    @Test func `the first activity counts for the date it was received or credited, however late its event comes`() async throws {
        try await withTyped { world in
            world.clock.set(moment("2026-01-06T00:00:30Z"))
            try await world.consume(snap("2026-01-05", receivedAt: "2026-01-05T23:59:50Z"))
            let first = try await world.streak(.dailySnap)
            #expect(first.currentStreak == 1 && first.lastActivityDate == day("2026-01-05") && !first.doneToday)
            world.clock.set(moment("2026-01-06T12:00:00Z"))
            try await world.consume(snap("2026-01-06", receivedAt: "2026-01-06T12:00:00Z"))
            #expect(try await world.streak(.dailySnap).currentStreak == 2)
            // Consumed two dates later: what lies between was missed.
            world.clock.set(moment("2026-01-09T12:00:00Z"))
            try await world.consume(
                CardShared(
                    userID: world.ann,
                    milestoneID: MilestoneCardID(high: 8, low: 8),
                    platform: "x",
                    sharedAt: moment("2026-01-06T13:00:00Z")
                )
            )
            let shared = try await world.streak(.socialShare)
            #expect(shared.longestStreak == 1 && shared.lastActivityDate == day("2026-01-06"))
        }
        try await withTyped { world in
            // Taken before midnight and received after it: credited to the date before.
            world.clock.set(moment("2026-01-06T00:10:00Z"))
            try await world.consume(snap("2026-01-05", receivedAt: "2026-01-06T00:05:00Z"))
            #expect(try await world.streak(.dailySnap).lastActivityDate == day("2026-01-05"))
        }
    }

    @Test func `the start carries the user's level, and a milestone what it brought`() async throws {
        try await withTyped { world in
            try await world.work.run(trace: "", requestID: "") { [ann = world.ann] work in
                try XPLedger.post([XPEntry(ann, key: "before", amount: 350, cause: "gift")], work)
            }
            try await world.recordDaily(5...8)
            #expect(try await world.events(SoloStreakStarted.self).map(\.userLevel) == [3])
            let reached = try await world.events(SoloMilestoneReached.self)
            #expect(reached.map(\.rewardsClaimed) == [MilestoneRewards(xp: 30, coins: 10, badges: ["🔥"])])
        }
    }

    @Test func `first activities that cross midnight in the wrong order both count`() async throws {
        // Received before midnight; received after it and credited to the date before.
        for earlier in ["2026-01-05T23:59:50Z", "2026-01-06T00:00:20Z"] {
            try await withTyped { world in
                world.clock.set(moment("2026-01-06T00:00:30Z"))
                try await world.consume(snap("2026-01-06", receivedAt: "2026-01-06T00:00:10Z"))
                try await world.consume(snap("2026-01-05", receivedAt: earlier))
                let streak = try await world.streak(.dailySnap)
                #expect(streak.currentStreak == 2 && streak.streakStartDate == day("2026-01-05"), "\(earlier)")
                let start = min(moment(earlier), moment("2026-01-05T23:59:59Z"))
                let starts = try await world.database.query(
                    "SELECT started_at FROM streak UNION SELECT joined_at FROM streak_member"
                )
                #expect(try starts.map { try $0.decode(as: Instant.self) } == [start])
                try await world.recordDaily(7...8, .dailySnap)
                #expect(try await world.streak(.dailySnap).currentStreak == 4)
                #expect(try await world.coins().count == 5, "four dates and the milestone of three")
            }
        }
    }

    @Test func `a time that cannot be is ignored and said to be, and a late activity is credited to its date`() async throws {
        try await withTyped { world in
            let now = world.clock.now()
            let first = try await world.record(capturedAt: now + .hours(1))
            #expect(first.capturedAtIgnored && first.serverTime == now && first.date == day("2026-01-05"))
            for (captured, isIgnored) in [(now + .minutes(15), false), (now - .days(365), true)] {
                let again = try await world.record(capturedAt: captured)
                #expect(again.alreadyRecorded && again.capturedAtIgnored == isIgnored, "\(captured)")
            }
            try await world.go(to: "2026-01-07T03:00:00Z")
            let late = try await world.record(capturedAt: moment("2026-01-06T22:00:00Z"))
            #expect(late.date == day("2026-01-06") && late.streak?.currentStreak == 2)
            // The same again claims the same date.
            #expect(try await world.record(capturedAt: moment("2026-01-06T22:00:00Z")).alreadyRecorded)
            #expect(try await world.record().date == day("2026-01-07"))
        }
    }

    @Test(arguments: [true, false])
    func `a late activity counts for its date before there was any`(isRecordedFirst: Bool) async throws {
        try await withTyped { world in
            try await world.go(to: "2026-01-06T03:00:00Z")
            if !isRecordedFirst { #expect(try await world.record().date == day("2026-01-06")) }
            let late = try await world.record(capturedAt: moment("2026-01-05T22:00:00Z"))
            #expect(late.date == day("2026-01-05") && !late.alreadyRecorded)
            if isRecordedFirst { #expect(try await world.record().date == day("2026-01-06")) }
            #expect(try await world.record(capturedAt: moment("2026-01-05T22:00:00Z")).alreadyRecorded)
            let streak = try await world.streak()
            #expect(streak.currentStreak == 2 && streak.streakStartDate == day("2026-01-05"))
        }
    }

    @Test func `a month excuses one date, the next break ends the run, and the history says so`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...11)
            try await world.go(to: "2026-01-14T12:00:00Z")
            let broken = try await world.streak()
            #expect(broken.currentStreak == 0 && broken.longestStreak == 7 && broken.freeDatesLeft == 0)
            try await world.record()
            let runs = try await world.history()
            #expect(runs.map(\.length) == [1, 7] && runs.map(\.breakReason) == [.running, .missed])
            #expect(runs.last?.missedDate == day("2026-01-13") && runs.last?.startDate == day("2026-01-05"))
            let calendar = try await GetTypedCalendar(views: world.views).handle(
                GetTypedCalendarRequest(type: "recipe_creation", from: day("2026-01-10"), to: day("2026-01-14")),
                world.context
            )
            #expect(calendar.days.map(\.mark) == [.complete, .complete, .neutral, .missed, .complete])
        }
    }

    @Test func `the export is for premium users, in both formats`() async throws {
        try await withTyped { world in
            try await world.record()
            let export = ExportTypedCalendar(views: world.views)
            let request = ExportTypedCalendarRequest(type: "recipe_creation", from: day("2026-01-05"), to: day("2026-01-05"))
            #expect(await world.reason { _ = try await export.handle(request, world.context) } == "PREMIUM_REQUIRED")
            try await world.premium(true, version: 1)
            let csv = try await export.handle(request, world.context)
            #expect(
                csv.body == "type,date,mark\r\nrecipe_creation,2026-01-05,complete\r\n" && csv.contentType.hasPrefix("text/csv")
            )
            var calendar = request
            calendar.format = "ics"
            let ics = try await export.handle(calendar, world.context)
            #expect(ics.body.contains("DTSTART;VALUE=DATE:20260105\r\n") && ics.contentType.hasPrefix("text/calendar"))
            var long = request
            long.from = day("2024-01-01")
            #expect(await world.reason { _ = try await export.handle(long, world.context) } == "VALIDATION_ERROR")
        }
    }

    @Test func `premium doubles coins, up to the cap`() async throws {
        try await withTyped { world in
            try await world.premium(true, version: 1)
            #expect(try await world.record().coinsEarned == 20)
            #expect(try await world.streak().insuranceActive)
        }
    }

    @Test func `two first activities at once begin one streak`() async throws {
        try await withTyped { world in
            let recorded = try await withThrowingTaskGroup(of: Bool.self, returning: Int.self) { tasks in
                for _ in 0..<8 { tasks.addTask { try await !world.record().alreadyRecorded } }
                var count = 0
                for try await isNew in tasks { count += isNew ? 1 : 0 }
                return count
            }
            #expect(recorded == 1)
            #expect(try await world.coins().count == 1)
        }
    }

    @Test func `a run ends with the last date that was kept, while it runs and after it`() async throws {
        try await withTyped { world in
            // The 7th is the month's free date.
            try await world.recordDaily(5...6)
            try await world.go(to: "2026-01-08T12:00:00Z")
            let running = try #require(try await world.history().first)
            #expect(running.breakReason == .running && running.endDate == day("2026-01-07") && running.length == 2)
            try await world.go(to: "2026-01-09T12:00:00Z")
            let ended = try #require(try await world.history().first)
            #expect(ended.breakReason == .missed && ended.endDate == day("2026-01-07") && ended.missedDate == day("2026-01-08"))
        }
    }
}
