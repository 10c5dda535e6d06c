import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore

/// What the event of a break says about undoing it (RC-2).
struct RecoveryOfferTests {
    private func apply(_ command: StreakCommand, to streak: StreakID, _ world: World) async throws {
        let writer = world.service.writer
        try await world.work.run(trace: "", requestID: "") { work in
            let stored = try #require(try await writer.store.lock([streak], work.sql).first)
            try await writer.apply(command, to: stored, work)
        }
    }

    @Test func `a break says until when a token undoes it, and that none does once the run's one was used`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            world.clock.set(moment("2026-05-06T12:00:00Z"))
            try await world.settle()
            let first = try #require(try await world.events(StreakBroken.self).last)
            #expect(first.missedDate == day("2026-05-05") && !first.isFinal && !first.unrecoverable)
            #expect(first.recoverableUntil == moment("2026-05-07T00:00:00Z"))
            // It covers the 5th and the 6th. The 7th is missed.
            try await apply(.recover(ann), to: streak, world)
            world.clock.set(moment("2026-05-08T12:00:00Z"))
            try await world.settle()
            let second = try #require(try await world.events(StreakBroken.self).last)
            #expect(second.missedDate == day("2026-05-07") && !second.isFinal)
            #expect(second.unrecoverable && second.recoverableUntil == nil)
        }
    }

    @Test func `no token undoes a break that is settled when its time is over`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            world.clock.set(moment("2026-05-07T00:00:01Z"))
            try await world.settle()
            let broken = try #require(try await world.events(StreakBroken.self).last)
            #expect(broken.missedDate == day("2026-05-05") && broken.unrecoverable && broken.recoverableUntil == nil)
        }
    }
}

/// Which of several events about one date says it to its users (NO-5).
struct OneCauseTests {
    @Test func `a snap that reaches a milestone or a token says so, and a token says whether a milestone does`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for _ in 1...60 {
                for user in [ann, ben] { try await world.post(user, to: [streak]) }
                world.clock.advance(by: .days(1))
            }
            let snaps = try await world.events(SnapCounted.self)
            #expect(snaps.count == 120)
            #expect(snaps.filter(\.celebrated).map(\.currentCount) == [7, 14, 30, 50, 60])
            #expect(snaps.filter(\.celebrated).allSatisfy { $0.dateCompleted && $0.userID == ben })
            let tokens = try await world.events(RecoveryTokenEarned.self)
            #expect(tokens.map(\.count) == [30, 60] && tokens.map(\.unannounced) == [false, true])
        }
    }
}
