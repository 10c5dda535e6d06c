import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Outbox
@testable import StreaksCheckIns
@testable import StreaksCore

/// The day's check-in and what follows from it (CI-1, CI-2, CI-4 to CI-6).
struct CheckInTests {
    @Test func `the first of a date counts, what follows updates the entry and keeps what it leaves out`() async throws {
        try await withCheckIns { life in
            let first = try await life.checkIn(8, weight: 71.5, feeling: "great")
            #expect(first.streak?.currentStreak == 1 && first.streak?.isFirstCheckInToday == true)
            #expect(first.trackingEntry?.yesterdayFeeling == "great" && first.milestone?.achieved == false)
            #expect(first.milestone?.rewards?.xp == 0 && first.milestone?.rewards?.badges == ["fresh_start"])
            #expect(first.xpEarned == 10)
            let second = try await life.checkIn(3)
            #expect(second.streak?.isFirstCheckInToday == false && second.milestone == nil)
            #expect(second.trackingEntry?.moodScore == 3 && second.trackingEntry?.weightKg == 71.5)
            #expect(second.trackingEntry?.id == first.trackingEntry?.id && second.trackingEntry?.updatedAt != nil)
            life.clock.advance(by: .days(1))
            let next = try await life.checkIn(feeling: "ok")
            #expect(
                next.streak?.currentStreak == 2 && next.trackingEntry?.yesterdayFeeling == nil,
                "only a run's first date asks"
            )
            #expect(try await life.xp() == XPAccount(balance: 20, lifetime: 20))
            #expect(try await life.world.events(SoloStreakStarted.self).count == 1)
            #expect(try await life.world.events(SoloStreakExtended.self).map(\.count) == [1, 2])
        }
    }

    @Test func `a log counts when it is one of the five activities`() async throws {
        try await withCheckIns { life in
            #expect(try await life.log(LogTrackingRequest(steps: 9_999)).qualifies == false)
            #expect(try await life.status().checkedInToday == false)
            let steps = try await life.log(LogTrackingRequest(steps: 10_000))
            #expect(steps.qualifies && steps.streak?.currentStreak == 1 && steps.trackingEntry?.activities == ["steps_log"])
            let weight = try await life.log(LogTrackingRequest(weightKg: 70))
            #expect(weight.streak?.isFirstCheckInToday == false)
            #expect(weight.trackingEntry?.activities == ["steps_log", "weight_log"] && weight.trackingEntry?.steps == 10_000)
            #expect(
                await refusal { try await life.log(LogTrackingRequest(moodScore: 3)) }?.details.first?.field == "energy_level"
            )
            #expect(await refusal { try await life.log(LogTrackingRequest()) }?.reason == "VALIDATION_ERROR")
        }
    }

    @Test func `seven dates bring the milestone, its XP and coins, two freezes and the perfect week`() async throws {
        // A Monday.
        try await withCheckIns { life in
            try await life.live(6)
            let seventh = try await life.checkIn()
            #expect(seventh.milestone?.milestoneType == "day_7" && seventh.milestone?.title == "Week Warrior")
            #expect(seventh.milestone?.rewards?.streakFreezes == 2 && seventh.milestone?.rewards?.coins == 50)
            #expect(seventh.milestone?.rewards?.xp == 100, "the milestone's own")
            #expect(seventh.xpEarned == Int32(10 + 14 + 100), "the check-in, the perfect week, the milestone")
            #expect(try await life.xp().lifetime == 70 + 30 + 14 + 100)
            #expect(try await life.status().freezesAvailable == 3)
            #expect(try await life.world.events(CoinsEarned.self).map(\.amount) == [10, 50])
        }
    }

    @Test func `premium begins with two freezes and earns a quarter more`() async throws {
        try await withCheckIns(isPremium: true) { life in
            let before = try await life.status()
            #expect(before.freezesAvailable == 2 && before.currentStreak == 0)
            let first = try await life.checkIn()
            #expect(first.xpEarned == 13, "12.5, rounded half up")
            #expect(first.streak?.freezesAvailable == 2)
        }
    }

    @Test func `a missed date takes a freeze, which extends the streak and spoils the perfect week`() async throws {
        try await withCheckIns { life in
            try await life.live(3)
            try await life.miss(1)
            let status = try await life.status()
            #expect(status.currentStreak == 4 && status.freezesAvailable == 0 && status.freezeInfo?.freezesUsedThisWeek == 1)
            try await life.live(3)
            #expect(try await life.xp().lifetime == 60 + 30 + 100, "no perfect week, and a frozen date earns nothing")
            let history = try await life.history(8)
            #expect(history.summary?.freezesUsed == 1 && history.summary?.daysWithCheckIns == 6)
            let statuses = history.history.reversed().map(\.status)
            #expect(
                statuses == [
                    "checked_in", "checked_in", "checked_in", "frozen", "checked_in", "checked_in", "checked_in", "open",
                ]
            )
            #expect(history.history.reversed().map(\.streakOnDate) == [1, 2, 3, 4, 5, 6, 7, 7])
            #expect(try await life.world.events(FreezeUsed.self).map(\.byHand) == [false])
        }
    }

    @Test func `a check-in that arrives late returns the freeze of its date`() async throws {
        try await withCheckIns { life in
            try await life.live(2)
            // 02:00 of the next date; the phone says 23:00.
            life.clock.set(moment("2026-01-08T02:00:00Z"))
            try await life.world.settle()
            #expect(try await life.status().freezesAvailable == 0)
            let late = try await life.checkIn(at: moment("2026-01-07T23:00:00Z"))
            #expect(late.trackingEntry?.trackingDate == day("2026-01-07") && late.streak?.currentStreak == 3)
            let status = try await life.status()
            #expect(status.freezesAvailable == 1 && status.freezeInfo?.lastFreezeUsedDate == nil)
        }
    }

    /// The change that settles the date spends the freeze and returns it at once.
    @Test func `a late check-in before anyone has looked leaves no freeze in the log`() async throws {
        try await withCheckIns { life in
            try await life.live(2)
            life.clock.set(moment("2026-01-08T02:00:00Z"))
            #expect(try await life.checkIn(at: moment("2026-01-07T23:00:00Z")).streak?.currentStreak == 3)
            let status = try await life.status()
            #expect(status.freezesAvailable == 1)
            #expect(status.freezeInfo?.lastFreezeUsedDate == nil && status.freezeInfo?.freezesUsedThisWeek == 0)
        }
    }

    @Test(arguments: [true, false])
    func `a late check-in counts for its date before there was any`(isRecordedFirst: Bool) async throws {
        try await withCheckIns(at: "2026-01-06T02:00:00Z") { life in
            if !isRecordedFirst { #expect(try await life.checkIn().streak?.currentStreak == 1) }
            let late = try await life.checkIn(3, at: moment("2026-01-05T23:00:00Z"))
            #expect(late.streak?.isFirstCheckInToday == true && late.trackingEntry?.trackingDate == day("2026-01-05"))
            if isRecordedFirst { #expect(try await life.checkIn().streak?.isFirstCheckInToday == true) }
            let status = try await life.status()
            #expect(status.currentStreak == 2 && status.lastCheckInDate == day("2026-01-06") && status.freezesAvailable == 1)
            life.clock.set(moment("2026-01-07T09:00:00Z"))
            #expect(try await life.checkIn().milestone?.milestoneType == "day_3")
        }
    }

    @Test func `two devices at midnight count once`() async throws {
        try await withCheckIns(at: "2026-01-05T23:59:59Z") { life in
            try await withThrowingTaskGroup(of: Bool.self) { tasks in
                for _ in 0..<6 { tasks.addTask { try await life.checkIn().streak?.isFirstCheckInToday == true } }
                var firsts = 0
                for try await isFirst in tasks where isFirst { firsts += 1 }
                #expect(firsts == 1)
            }
            #expect(try await life.status().currentStreak == 1)
            #expect(try await life.xp().lifetime == 10)
        }
    }

    @Test func `a repeat of a key is refused at once while the first waits for the streak, and gets its answer after it`()
        async throws
    {
        try await withCheckIns { life in
            try await life.checkIn()
            let database = life.world.database
            let first = try await database.transaction { holder in
                _ = try await holder.query("SELECT 1 FROM streak FOR UPDATE")
                let held = try #require(try await holder.query("SELECT pg_current_xact_id()::text").first).decode(as: String.self)
                let first = Task { try await life.checkIn(4, key: "one") }
                try await eventually {
                    try await !database.query("SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid::text = \(held)")
                        .isEmpty
                }
                #expect(await refusal { try await life.checkIn(4, key: "one") }?.reason == "REQUEST_IN_PROGRESS")
                return first
            }
            let entry = try await first.value
            #expect(entry.trackingEntry?.moodScore == 4)
            #expect(try await life.checkIn(4, key: "one") == entry)
        }
    }

    @Test func `what the reply shows of the entry is what is stored`() async throws {
        try await withCheckIns { life in
            let answered = [
                try await life.checkIn(8, weight: 71.3, feeling: "great").trackingEntry,
                try await life.log(LogTrackingRequest(steps: 12_000, notes: "ran")).trackingEntry,
                try await life.checkIn(2).trackingEntry,
            ]
            #expect(try await life.status().today == answered.last ?? nil)
            #expect(answered.map { $0?.activities.count } == [3, 4, 4])
        }
    }

    @Test(arguments: 0..<4, [false, true])
    func `check-ins on both sides of midnight count once for each date`(round: Int, isNew: Bool) async throws {
        try await withCheckIns(at: "2026-01-04T12:00:00Z") { life in
            if !isNew { try await life.checkIn() }
            life.clock.set(moment("2026-01-05T23:59:59Z"))
            let claimed = life.clock.now()
            try await withThrowingTaskGroup(of: CalendarDate?.self) { tasks in
                for number in 0..<8 {
                    tasks.addTask {
                        if number == 2 + round { life.clock.set(moment("2026-01-06T00:00:00Z")) }
                        // Half of the devices sent it before midnight, whenever it arrives.
                        let data = try await life.checkIn(at: number % 2 == 0 ? claimed : nil)
                        return data.streak?.isFirstCheckInToday == true ? data.trackingEntry?.trackingDate : nil
                    }
                }
                var dates: [CalendarDate] = []
                for try await date in tasks { dates += [date].compactMap { $0 } }
                #expect(Set(dates).count == dates.count, "no date is checked in twice")
                let status = try await life.status()
                #expect(Int(status.currentStreak) == (isNew ? 0 : 1) + dates.count && status.lastCheckInDate == dates.max())
            }
            let last = try #require(try await life.checkIn().streak)
            #expect(last.lastCheckInDate == day("2026-01-06"))
            // A date that is filled in before another moves that one's count: it is emitted again.
            let extended = try await life.world.events(SoloStreakExtended.self).map(\.date)
            #expect(Set(extended).count == Int(last.currentStreak))
        }
    }

    @Test func `the first check-in counts also when one after midnight was recorded before it`() async throws {
        try await withCheckIns(at: "2026-01-06T00:00:01Z") { life in
            try await life.checkIn(9)
            // Received before midnight, and slower.
            let early = CheckIn(
                recorder: CheckInRecorder(streaks: life.parts.streaks),
                mutations: life.world.mutations,
                clock: ManualClock(moment("2026-01-05T23:59:59Z"))
            )
            let request = CheckInRequest(moodScore: 3, energyLevel: 7, checkInTime: moment("2026-01-05T23:59:58Z"))
            let reply = try #require(try await early.handle(request, life.context()).reply.data)
            #expect(reply.streak?.isFirstCheckInToday == true && reply.trackingEntry?.trackingDate == day("2026-01-05"))
            let status = try await life.status()
            #expect(status.currentStreak == 2 && status.lastCheckInDate == day("2026-01-06"))
            #expect(status.freezesAvailable == 1)
            life.clock.set(moment("2026-01-07T09:00:00Z"))
            #expect(try await life.checkIn().streak?.currentStreak == 3)
            #expect(try await life.xp().lifetime == 30 + 30, "the milestone of three")
            let rewards = try await life.world.events(SoloMilestoneReached.self).map(\.rewardsClaimed)
            #expect(rewards == [MilestoneRewards(xp: 30, coins: 10, badges: ["getting_started"])])
        }
    }

    @Test(arguments: 0..<4) func `a pause while the job breaks the streak keeps it or comes too late`(round: Int) async throws {
        try await withCheckIns { life in
            try await life.live(2)
            // The freeze of the start keeps the 7th; nothing is left for the 8th.
            try await life.miss(1)
            life.clock.set(moment("2026-01-08T23:59:59Z"))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<(round + 1) {
                    tasks.addTask {
                        let refused = await refusal { try await life.pause(until: day("2026-01-20")) }
                        #expect(refused?.reason ?? "ALREADY_PAUSED" == "ALREADY_PAUSED", "device \(number)")
                    }
                }
                tasks.addTask {
                    life.clock.set(moment("2026-01-09T00:02:00Z"))
                    try await life.world.settle()
                }
                try await tasks.waitForAll()
            }
            try await life.world.settle()
            let status = try await life.status()
            let starts = try await life.world.database.query("SELECT from_date FROM check_in_pause")
                .map { try $0.decode(as: CalendarDate.self) }
            #expect(status.paused && starts.count == 1)
            // A pause from the 8th came before its end; a later one leaves the 8th missed.
            let isKept = starts == [day("2026-01-08")]
            #expect(status.currentStreak == (isKept ? 3 : 0))
            // The job may break the streak before, and the pause undoes it (SD-6).
            let breaks = try await life.world.events(SoloStreakBroken.self).map(\.missedDate)
            let restored = try await life.world.events(SoloStreakRestored.self)
            #expect(breaks.count - restored.count == (isKept ? 0 : 1) && (breaks == [] || breaks == [day("2026-01-08")]))
            life.clock.set(moment("2026-01-20T12:00:00Z"))
            try await life.world.settle()
            #expect(try await life.checkIn().streak?.currentStreak == (isKept ? 4 : 1))
        }
    }

    @Test func `a freeze by hand while the job spends it is spent once`() async throws {
        try await withCheckIns { life in
            try await life.live(2)
            life.clock.set(moment("2026-01-07T23:59:59Z"))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { _ = await refusal { try await life.freeze(day("2026-01-07")) } }
                tasks.addTask {
                    life.clock.set(moment("2026-01-08T00:02:00Z"))
                    try await life.world.settle()
                }
                try await tasks.waitForAll()
            }
            try await life.world.settle()
            let status = try await life.status()
            #expect(status.currentStreak == 3 && status.freezesAvailable == 0)
            #expect(try await life.world.events(FreezeUsed.self).count == 1)
        }
    }

    @Test func `a pause keeps the streak, has its reason, ends by itself or early, and comes again only after a check-in`()
        async throws
    {
        try await withCheckIns { life in
            try await life.live(2)
            let long = await refusal { try await life.pause(until: day("2026-06-01")) }
            #expect(long?.reason == "PAUSE_TOO_LONG" && long?.details.first?.message == "90")
            let paused = try await life.pause(until: day("2026-01-17"))
            #expect(paused.daysPaused == 10 && paused.currentStreak == 2)
            #expect(await refusal { try await life.pause(until: day("2026-01-20")) }?.reason == "ALREADY_PAUSED")
            let status = try await life.status()
            #expect(status.paused && status.pauseEndDate == day("2026-01-17") && status.streakSafe)
            try await life.miss(10)
            #expect(try await life.status().paused == false)
            #expect(await refusal { try await life.pause(until: day("2026-01-20")) }?.reason == "PAUSE_NEEDS_CHECK_IN")
            #expect(try await life.checkIn().streak?.currentStreak == 3)
            let reasons = try await life.world.database.query("SELECT reason || ' ' || notes FROM check_in_pause")
            #expect(try reasons.map { try $0.decode(as: String.self) } == ["vacation Sea"])
        }
    }

    @Test func `an outage on Sunday does not spoil the week`() async throws {
        try await withCheckIns { life in
            try await life.live(6)
            // The job has no part in it: the outage is declared before the date is settled.
            let (from, until) = (moment("2026-01-11T00:00:00Z"), moment("2026-01-12T00:00:00Z"))
            let outage = OutageJob(writer: life.world.service.writer, work: life.world.work, clock: life.clock).job
            #expect(try await OutageRepository.insert(OutageID(high: 2, low: 2), from: from, until: until, life.world.database))
            while try await outage.run(life.clock.now()) > 0 {}
            life.clock.set(moment("2026-01-12T12:00:00Z"))
            #expect(try await life.checkIn().streak?.currentStreak == 7)
            let causes = try await XPLedger.latest(of: life.ann, limit: 50, life.world.database).map(\.cause)
            #expect(causes.contains("perfect_week"))
            #expect(try await life.xp().lifetime == 70 + 30 + 100 + 12)
        }
    }

    @Test func `a check-in in a circle counts with its receipt time, once`() async throws {
        try await withCheckIns { life in
            let event = CircleCheckedIn(
                userID: life.ann,
                circleID: CircleID(high: 3, low: 3),
                operationID: OperationID(high: 4, low: 4),
                receivedAt: moment("2026-01-05T11:00:00Z"),
                date: day("2026-01-05"),
                mood: 7,
                energy: 6
            )
            for _ in 0..<2 { try await life.world.consume(event, by: [life.parts.circleConsumer]) }
            let status = try await life.status()
            #expect(status.checkedInToday && status.currentStreak == 1)
            #expect(status.today?.activities == ["circle_checkin", "mood_log"] && status.today?.moodScore == 7)
            #expect(status.lastCheckInTime == moment("2026-01-05T11:00:00Z"))
        }
    }

    @Test func `the first check-in counts for the date it was received, however late its event comes`() async throws {
        try await withCheckIns { life in
            life.clock.set(moment("2026-01-06T00:00:30Z"))
            let event = CircleCheckedIn(
                userID: life.ann,
                circleID: CircleID(high: 3, low: 3),
                operationID: OperationID(high: 4, low: 4),
                receivedAt: moment("2026-01-05T23:59:50Z"),
                date: day("2026-01-05")
            )
            try await life.world.consume(event, by: [life.parts.circleConsumer])
            let status = try await life.status()
            #expect(status.currentStreak == 1 && status.lastCheckInDate == day("2026-01-05") && !status.checkedInToday)
            #expect(status.freezesAvailable == 1, "those of the start are there, and none was spent")
            #expect(try await life.checkIn().streak?.currentStreak == 2)
            #expect(try await life.world.events(SoloStreakStarted.self).map(\.at) == [moment("2026-01-05T23:59:50Z")])
        }
    }

    @Test func `a double day doubles the coins of a milestone, in the reply and in the event`() async throws {
        try await withCheckIns { life in
            try await life.live(6)
            let (operation, user, today) = (OperationID(high: 8, low: 1), life.ann, day("2026-01-11"))
            try await life.world.work.run(trace: "", requestID: "") { work in
                let isAdded = try await DoubleDays.add(operation, to: today, of: user, work.sql)
                #expect(isAdded)
            }
            let seventh = try await life.checkIn()
            #expect(seventh.milestone?.rewards?.coins == 100 && seventh.xpEarned == Int32(10 + 14 + 100))
            #expect(try await life.world.events(CoinsEarned.self).map(\.amount) == [10, 100])
            // It has helped, so it does not come back.
            let isTaken = try await life.world.work.run(trace: "", requestID: "") { work in
                try await DoubleDays.remove(operation, of: user, on: today, work.sql)
            }
            #expect(!isTaken)
        }
    }

    @Test func `tracking is exported, and erased with the account`() async throws {
        try await withCheckIns { life in
            try await life.checkIn(weight: 70)
            let export = try await life.world.service.export(life.ann)
            #expect(export["tracking"]?.contains("70") == true && export["xp"] != nil)
            try await life.world.work.run(trace: "", requestID: "") { try await life.world.service.erase(life.ann, $0) }
            for table in ["tracking_entry", "tracking_update", "xp_account", "xp_posting", "check_in_milestone", "freeze_use"] {
                let rows = try await life.world.database.query("SELECT count(*) FROM \(identifier: table)")
                #expect(try rows.first?.decode(as: Int64.self) == 0, "\(table)")
            }
        }
    }
}
