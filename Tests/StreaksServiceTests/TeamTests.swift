import AuthAPI
import Bus
import Database
import Kernel
import Outbox
import Replicas
import SocialAPI
import StreaksAPI
import StreaksDomain
import Synchronization
import TestSupport
import Testing
import Wire

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksProgress
@testable import StreaksService
@testable import StreaksTeams

private func reason(_ body: () async throws -> Void) async throws -> String {
    do { try await body() } catch let error as ServiceError { return error.reason }
    return "OK"
}

@Suite("Streaks of circles (TS-4)", .timeLimit(.minutes(10)))
struct TeamTests {
    private static let circle = Teams.circle(1)

    @Test func `the streak begins with the second member, and those who join count from the next date`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await teams.set(Self.circle, 1, [ann])
            let alone = try await teams.streak(ann, Self.circle)
            #expect(alone.status == .waiting && alone.streakID == nil && alone.neutral)
            #expect(try await !teams.checkIn(ann, Self.circle).counted)
            #expect(try await reason { _ = try await teams.streak(ben, Self.circle) } == "NOT_FOUND")
            try await teams.set(Self.circle, 2, [ann, ben])
            let first = try await teams.checkIn(ann, Self.circle)
            #expect(first.counted && !first.dateCompleted && first.quorum == 2 && first.contributed == 1)
            #expect(try await !teams.checkIn(ann, Self.circle).counted, "again")
            let second = try await teams.checkIn(ben, Self.circle)
            #expect(second.dateCompleted && second.currentCount == 1)
            world.clock.advance(by: .minutes(1))
            try await teams.set(Self.circle, 3, [ann, ben, cem])
            try await teams.set(Self.circle, 2, [ann, ben])
            let late = try await teams.checkIn(cem, Self.circle)
            #expect(!late.counted && late.date == day("2026-05-01"))
            world.clock.set(moment("2026-05-02T08:00:00Z"))
            try await teams.checkIn(cem, Self.circle)
            try await teams.checkIn(ben, Self.circle)
            let view = try await teams.streak(ann, Self.circle)
            #expect(view.currentCount == 2 && view.lastCompletedDate == day("2026-05-02"))
            #expect(view.calendar.count == 90)
            #expect(view.calendar.suffix(2).map(\.mark) == [.complete, .complete])
            #expect(view.calendar.suffix(2).map(\.youContributed) == [true, false])
            #expect(view.memberContributions.count == 3)
            #expect(try await world.events(TeamStreakExtended.self).map(\.count) == [1, 2])
            #expect(try await world.events(TeamStreakExtended.self).last?.memberIDs == [ann, ben, cem])
            // Each check-in is emitted for the member's own streak, the repeated one too.
            #expect(try await world.events(CircleCheckedIn.self).map(\.userID) == [ann, ann, ann, ben, cem, cem, ben])
            #expect(try await world.events(CircleCheckedIn.self).first?.mood == 8)
        }
    }

    @Test func `who joins before midnight counts from the next date, although the event comes after it`() async throws {
        try await withWorld(at: "2026-05-01T20:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await teams.set(Self.circle, 1, [ann, ben])
            for user in [ann, ben] { try await teams.checkIn(user, Self.circle) }
            world.clock.set(moment("2026-05-02T00:00:10Z"))
            try await teams.set(Self.circle, 2, [ann, ben, cem], joinedAt: moment("2026-05-01T23:59:50Z"))
            let checkIn = try await teams.checkIn(cem, Self.circle)
            #expect(checkIn.counted && checkIn.date == day("2026-05-02") && checkIn.contributed == 1, "\(checkIn)")
        }
    }

    @Test(arguments: [true, false])
    func `who leaves before midnight, or deletes the account, is no member of that date, although the event comes after it`(
        _ isDeleted: Bool
    ) async throws {
        try await withWorld(at: "2026-05-01T20:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            let dan = try await world.person(4)
            try await teams.set(Self.circle, 1, [ann, ben, cem, dan])
            // Two of four are too few, of three they are enough.
            for user in [ann, ben] { try await teams.checkIn(user, Self.circle) }
            world.clock.set(moment("2026-05-02T00:00:10Z"))
            let leftAt = moment("2026-05-01T23:59:50Z")
            if isDeleted {
                let handlers = AccountConsumers(writer: teams.core.writer).handlers
                let deleted = AccountDeleted(userID: dan, deletedAt: leftAt, purgeAt: leftAt + .days(30))
                try await world.consume(deleted, by: handlers)
            } else {
                try await teams.set(Self.circle, 2, [ann, ben, cem], changedAt: leftAt)
            }
            let streak = try await teams.streak(ann, Self.circle)
            #expect(streak.currentCount == 1 && streak.lastCompletedDate == day("2026-05-01"), "\(streak)")
        }
    }

    @Test func `a missed date is reminded of, has a grace once in 7 dates, and breaks then`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await teams.set(Self.circle, 1, [ann, ben])
            for user in [ann, ben] { try await teams.checkIn(user, Self.circle) }
            try await teams.reach("2026-05-02T20:59:00Z")
            try await teams.checkIn(ann, Self.circle)
            #expect(try await world.events(TeamAtRisk.self).isEmpty)
            try await teams.reach("2026-05-02T21:00:30Z")
            try await teams.reach("2026-05-02T22:00:00Z")
            let risk = try await world.events(TeamAtRisk.self)
            #expect(risk.count == 1)
            #expect(risk.first?.waitingIDs == [ben] && risk.first?.missing == 1 && risk.first?.graceAvailable == true)
            #expect(try await teams.streak(ann, Self.circle).atRisk)
            try await teams.reach("2026-05-03T00:02:00Z")
            let graces = try await world.events(TeamGraceStarted.self)
            #expect(graces.map(\.date) == [day("2026-05-02")])
            #expect(graces.first?.waitingIDs == [ben])
            let inGrace = try await teams.streak(ann, Self.circle)
            #expect(inGrace.graceUntil == moment("2026-05-03T12:00:00Z") && inGrace.date == day("2026-05-02"))
            // Ben's morning check-in saves the date before, and counts for its own.
            world.clock.set(moment("2026-05-03T07:00:00Z"))
            try await teams.ownCheckIn(ben, "2026-05-03")
            let saved = try await teams.streak(ben, Self.circle)
            #expect(saved.currentCount == 2 && saved.lastCompletedDate == day("2026-05-02"))
            #expect(saved.date == day("2026-05-03") && saved.contributed == 1)
            try await teams.ownCheckIn(ben, "2026-05-03")
            #expect(try await teams.streak(ben, Self.circle).contributed == 1, "redelivered")
            // No second grace within 7 dates.
            try await teams.reach("2026-05-04T00:02:00Z")
            let broken = try await world.events(TeamStreakBroken.self)
            #expect(broken.map(\.missedDate) == [day("2026-05-03")])
            #expect(broken.first?.count == 2 && broken.first?.circleName == "Runners")
            // What was done in time may arrive for 6 hours.
            #expect(broken.first?.repairableUntil == moment("2026-05-04T06:00:00Z"))
            #expect(try await teams.streak(ann, Self.circle).currentCount == 0)
            #expect(try await teams.streak(ann, Self.circle).longestCount == 2)
        }
    }

    @Test func `a check-in in the grace saves the date, although its event comes when the grace is over`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await teams.set(Self.circle, 1, [ann, ben])
            for user in [ann, ben] { try await teams.checkIn(user, Self.circle) }
            world.clock.set(moment("2026-05-02T20:00:00Z"))
            try await teams.checkIn(ann, Self.circle)
            try await teams.reach("2026-05-03T12:02:00Z")
            #expect(try await world.events(TeamStreakBroken.self).map(\.missedDate) == [day("2026-05-02")])
            #expect(try await teams.streak(ann, Self.circle).currentCount == 0)
            try await teams.ownCheckIn(ben, "2026-05-03", at: "2026-05-03T11:59:59Z")
            let saved = try await teams.streak(ann, Self.circle)
            #expect(saved.currentCount == 2 && saved.lastCompletedDate == day("2026-05-02"))
            #expect(saved.date == day("2026-05-03") && saved.contributed == 1)
        }
    }

    @Test func `one check-in to a circle counts there for one date: in a grace for yesterday, not for today as well`()
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let other = Teams.circle(2)
            for circle in [Self.circle, other] { try await teams.set(circle, 1, [ann, ben]) }
            for user in [ann, ben] { for circle in [Self.circle, other] { try await teams.checkIn(user, circle) } }
            world.clock.set(moment("2026-05-02T20:00:00Z"))
            for circle in [Self.circle, other] { try await teams.checkIn(ann, circle) }
            world.clock.set(moment("2026-05-03T11:50:00Z"))
            #expect(try await teams.checkIn(ben, Self.circle).date == day("2026-05-02"))
            // Their own check-in follows from it, and counts in the other circle, for both dates.
            try await teams.ownCheckIn(ben, "2026-05-03")
            let saved = try await teams.streak(ben, Self.circle)
            #expect(saved.currentCount == 2 && saved.date == day("2026-05-03") && saved.contributed == 0)
            #expect(try await teams.streak(ben, other).contributed == 1)
            // Today's is still to be had.
            world.clock.advance(by: .minutes(20))
            let today = try await teams.checkIn(ben, Self.circle)
            #expect(today.date == day("2026-05-03") && today.counted && today.contributed == 1)
        }
    }

    @Test(arguments: [true, false])
    func `in a grace a check-in to the circle counts for one date, before and after another's own`(
        isFirst: Bool
    ) async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await teams.set(Self.circle, 1, [ann, ben, cem])
            for user in [ann, ben] { try await teams.checkIn(user, Self.circle) }
            world.clock.set(moment("2026-05-02T20:00:00Z"))
            try await teams.checkIn(ann, Self.circle)
            try await teams.reach("2026-05-03T07:00:00Z")
            // The member who comes first saves the date before; an own check-in counts for its own date as well.
            if isFirst {
                #expect(try await teams.checkIn(cem, Self.circle).date == day("2026-05-02"))
                try await teams.ownCheckIn(cem, "2026-05-03")
            }
            world.clock.advance(by: .minutes(1))
            try await teams.ownCheckIn(ben, "2026-05-03")
            world.clock.advance(by: .minutes(1))
            if !isFirst {
                #expect(try await teams.checkIn(cem, Self.circle).date == day("2026-05-03"))
                try await teams.ownCheckIn(cem, "2026-05-03")
            }
            // 3: today is complete too.
            let saved = try await teams.streak(ann, Self.circle)
            #expect(saved.currentCount == (isFirst ? 2 : 3))
            if isFirst { #expect(saved.date == day("2026-05-03") && saved.contributed == 1) }
            world.clock.advance(by: .minutes(1))
            // Who has saved the date before still has today's.
            #expect(try await teams.checkIn(cem, Self.circle).counted == isFirst)
            let done = try await teams.streak(ann, Self.circle)
            #expect(done.currentCount == 3 && done.lastCompletedDate == day("2026-05-03"))
        }
    }

    @Test func `what a late check-in counts for is who was a member on its date`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await teams.set(Self.circle, 1, [ann, ben, cat])
            try await teams.checkIn(ann, Self.circle)
            // Ben checks in at 23:59 and leaves the next morning, before the event of his check-in comes.
            world.clock.set(moment("2026-05-02T07:00:00Z"))
            try await teams.set(Self.circle, 2, [ann, cat], joinedAt: moment("2026-05-01T08:00:00Z"))
            try await teams.ownCheckIn(ben, "2026-05-01", at: "2026-05-01T23:59:00Z")
            #expect(try await teams.streak(ann, Self.circle).currentCount == 1, "two of three")
            // What he does after he has left is not the circle's.
            try await teams.ownCheckIn(ben, "2026-05-02", at: "2026-05-02T07:30:00Z")
            #expect(try await teams.streak(ann, Self.circle).contributed == 0)
        }
    }

    @Test func `one's own check-in counts in all circles, for its date`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for number in 1...3 { try await teams.set(Teams.circle(UInt64(number)), 1, [ann, ben]) }
            try await teams.set(Teams.circle(4), 1, [ann])
            try await teams.ownCheckIn(ann, "2026-05-01")
            try await teams.ownCheckIn(ann, "2026-05-01")
            try await teams.checkIn(ben, Teams.circle(1))
            #expect(try await teams.streak(ann, Teams.circle(1)).currentCount == 1)
            #expect(try await teams.streak(ann, Teams.circle(2)).contributed == 1)
            // After midnight, for the date before.
            world.clock.set(moment("2026-05-02T01:00:00Z"))
            try await teams.ownCheckIn(ben, "2026-05-01", count: 9)
            #expect(try await teams.streak(ann, Teams.circle(2)).currentCount == 1)
            #expect(try await teams.streak(ann, Teams.circle(2)).contributed == 0, "nothing for the present date")
            let feed = try await teams.feed(ann, Teams.circle(1))
            #expect(feed.entries.map(\.toCircle) == [true, false])
            #expect(feed.entries.map(\.streakCount) == [9, 5])
            #expect(feed.entries.map { $0.user?.userID } == [ben, ann])
            let page = try await teams.feed(ann, Teams.circle(2), limit: 1)
            #expect(page.entries.map { $0.user?.userID } == [ben])
            let rest = try await teams.feed(ann, Teams.circle(2), limit: 1, cursor: try #require(page.meta?.nextCursor))
            #expect(rest.entries.map { $0.user?.userID } == [ann])
            #expect(try await teams.feed(ann, Teams.circle(4)).entries.count == 1)
        }
    }

    @Test func `a block hides people in the streak and the feed, and they still count`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await teams.set(Self.circle, 1, [ann, ben])
            for user in [ann, ben] { try await teams.checkIn(user, Self.circle) }
            let block = BlockState(
                blockID: BlockID(high: 5, low: 5),
                version: 1,
                blockerID: ben,
                blockedID: ann,
                active: true,
                changedAt: world.clock.now()
            )
            try await world.consume(UserBlocked(blockID: block.blockID, block: block), by: teams.core.blocks.handlers())
            for user in [ann, ben] {
                let view = try await teams.streak(user, Self.circle)
                #expect(view.currentCount == 1)
                #expect(view.memberContributions.map { $0.user?.userID } == [user])
                #expect(try await teams.feed(user, Self.circle).entries.map { $0.user?.userID } == [user])
            }
        }
    }

    @Test func `who leaves counts no more, unknown members are asked for, and a deleted circle ends its streak`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await teams.set(Self.circle, 1, [ann, ben])
            // The event is on its way: the service asks.
            try await teams.set(Self.circle, 2, [ann, ben, cem], tell: false)
            #expect(try await teams.streak(cem, Self.circle).memberContributions.count == 3)
            world.clock.advance(by: .minutes(1))
            try await teams.set(Self.circle, 3, [ann, cem])
            #expect(try await reason { try await teams.checkIn(ben, Self.circle) } == "NOT_FOUND")
            let streak = try #require(try await teams.streak(ann, Self.circle).streakID)
            world.clock.advance(by: .minutes(1))
            try await teams.set(Self.circle, 4, [ann, cem, ben])
            #expect(try await teams.streak(ben, Self.circle).streakID == streak)
            try await teams.checkIn(ben, Self.circle)
            try await teams.set(Self.circle, 5, [], deleted: true)
            try await teams.set(Self.circle, 4, [ann, cem, ben])
            let ended = try await world.events(TeamStreakEnded.self)
            #expect(ended.map(\.streakID) == [streak])
            #expect(ended.map(\.memberIDs) == [[ann, ben, cem]])
            #expect(try await world.database.query("SELECT 1 FROM team UNION ALL SELECT 1 FROM team_check_in").isEmpty)
        }
    }

    @Test func `the snapshot brings what no event has`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for number in 1...3 { try await teams.set(Teams.circle(UInt64(number)), 1, [ann, ben], tell: false) }
            try await teams.core.circles.loadSnapshotOnce(context: World.by(ann))
            try await teams.core.circles.loadSnapshotOnce(context: World.by(ann))
            #expect(try await teams.core.circles.circles(of: [ann], world.database)[ann]?.count == 3)
            #expect(
                try await world.events(TeamStreakStarted.self).map { Set($0.memberIDs) } == [
                    [ann, ben], [ann, ben], [ann, ben],
                ]
            )
        }
    }

    @Test func `eight who check in at once make one date`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            var people: [UserID] = []
            for number in 1...8 { people.append(try await world.person(UInt64(number))) }
            let members = people
            try await teams.set(Self.circle, 1, members)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for user in members + members { tasks.addTask { _ = try await teams.checkIn(user, Self.circle) } }
                try await tasks.waitForAll()
            }
            let view = try await teams.streak(members[0], Self.circle)
            #expect(view.currentCount == 1)
            #expect(try await world.events(TeamStreakExtended.self).count == 1)
            #expect(view.calendar.last?.contributed == 8)
        }
    }

    @Test func `a milestone of a circle is a card of each present member, without the others`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben, cem) = (try await world.person(1), try await world.person(2), try await world.person(3))
            try await teams.set(Self.circle, 1, [ann, ben, cem])
            for day in 1...7 {
                try await teams.reach("2026-05-0\(day)T08:00:00Z")
                for user in [ann, ben] { try await teams.checkIn(user, Self.circle) }
            }
            let streak = try #require(try await teams.streak(ann, Self.circle).streakID)
            let streaks = CelebratedStreaks(
                store: teams.core.store,
                blocks: teams.core.blocks,
                circles: teams.core.circles,
                clock: world.clock
            )
            func facts(_ user: UserID) async throws -> GetMilestoneFactsReply {
                let request = GetMilestoneFactsRequest(userID: user, streakID: streak, milestone: 7)
                return try await GetMilestoneFacts(streaks: streaks).handle(request, World.by(user))
            }
            // Cem did nothing for it and is a member all the same.
            for user in [ann, ben, cem] {
                let reached = try await facts(user)
                #expect(reached.isReached && reached.toDate == day("2026-05-07") && reached.friendID == nil)
                #expect(reached.circleID == Self.circle && reached.subject == "Runners" && reached.title.isEmpty)
            }
            try await teams.set(Self.circle, 2, [ann, cem])
            #expect(try await facts(ben) == GetMilestoneFactsReply(), "he has left")
            #expect(try await facts(ann).isReached)
            try await teams.set(Self.circle, 3, [], deleted: true)
            #expect(try await facts(ann) == GetMilestoneFactsReply(), "there is no circle any more")
        }
    }
}
