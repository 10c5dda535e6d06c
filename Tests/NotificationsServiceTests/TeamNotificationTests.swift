import Kernel
import NotificationsAPI
import SocialAPI
import StreaksAPI
import TestSupport
import Testing

@testable import NotificationsCore

/// Notifications about circles, and about what kept or can still save a streak (NO-1, SO-10, TS-3, TS-4, CI-3).
struct TeamNotificationTests {
    private let circle = CircleID(high: 9, low: 1)

    /// The entries of a user's log, the newest first.
    private func log(_ user: UserID, _ world: World) async throws -> [StoredNotification] {
        try await world.core.log.list(of: user, before: nil, limit: 50)
    }

    private func state(_ members: [UserID]) -> CircleState {
        CircleState(circleID: circle, version: 3, name: "Runners", members: members.map { CircleStateMember(userID: $0) })
    }

    @Test func `who joins is announced to those who are in the circle, and to no one whom a block separates`() async throws {
        try await withWorld { world in
            let (ann, ben, eve) = (try await world.person(1), try await world.person(2, name: "Ben"), try await world.person(3))
            try await world.consume(
                UserBlocked(
                    blockID: BlockID(high: 1, low: 1),
                    block: BlockState(blockID: BlockID(high: 1, low: 1), version: 1, blockerID: eve, blockedID: ben, active: true)
                )
            )
            for change in [CircleChange.memberJoined, .roleChanged, .memberLeft] {
                try await world.consume(
                    CircleChanged(circleID: circle, circle: state([ann, ben, eve]), change: change, userID: ben, actorID: ben)
                )
            }
            let entry = try #require(try await log(ann, world).first)
            #expect(try await log(ann, world).count == 1)
            #expect(entry.kind == .teamJoined && entry.actor == ben && entry.circle == circle)
            #expect(entry.text(name: "Ben", in: .english).body == "Ben joined your team.")
            #expect(entry.linkPath == "circles/\(circle)")
            #expect(try await log(ben, world).isEmpty)
            #expect(try await log(eve, world).isEmpty)
        }
    }

    @Test func `an invitation leads to joining, as long as its code is valid`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, name: "Ben"))
            for (code, end) in [("abcd-efgh", world.clock.now() + .hours(1)), ("late", world.clock.now())] {
                try await world.consume(
                    CircleInvitationSent(
                        circleID: circle,
                        circleName: "Runners",
                        fromUserID: ben,
                        toUserID: ann,
                        code: code,
                        expiresAt: end
                    )
                )
            }
            let entries = try await log(ann, world)
            #expect(entries.map(\.kind) == [.teamInvitation])
            #expect(entries.first?.linkPath == "circles/join/abcd-efgh")
            #expect(entries.first?.text(name: "Ben", in: .german).title == "👥 Mach mit bei Runners")
        }
    }

    @Test func `a break says for how long it can be undone, and what kept a streak says what it was`() async throws {
        try await withWorld { world in
            let (ann, now) = (try await world.person(1), world.clock.now())
            let date = Zone.utc.date(at: now)
            func broken(_ until: Instant?) -> SoloStreakBroken {
                SoloStreakBroken(
                    streakID: World.streak,
                    userID: ann,
                    kind: .checkIn,
                    count: 12,
                    missedDate: date,
                    brokenAt: now,
                    reason: .missed,
                    repairableUntil: until
                )
            }
            for until in [nil, now + .hours(21), now] { try await world.consume(broken(until)) }
            for until in [nil, now + .hours(6)] {
                try await world.consume(
                    TeamStreakBroken(
                        streakID: World.streak,
                        circleID: circle,
                        circleName: "Runners",
                        memberIDs: [ann],
                        missedDate: date,
                        count: 12,
                        brokenAt: now,
                        repairableUntil: until
                    )
                )
            }
            for protection in [ProtectionKind.insurance, .shield] {
                try await world.consume(
                    ProtectionUsed(
                        streakID: World.streak,
                        userID: ann,
                        kind: .checkIn,
                        protection: protection,
                        date: date,
                        at: now,
                        count: 12
                    )
                )
            }
            let texts = Set(try await log(ann, world).map { $0.text(name: nil, in: .english) }.map { "\($0.title) \($0.body)" })
            #expect(
                texts == [
                    "💔 Streak broken! Your 12-day streak of check-ins has ended. Start a new one today!",
                    "💔 Your 12-day streak is broken! Repair it within 21 hours?",
                    "💔 Runners The team's 12-day streak ended. Start a new one today!",
                    "💔 Runners The team's 12-day streak ended. Check-ins made in time still save it for 6 hours.",
                    "☂️ Insurance used Your insurance kept your 12-day streak of check-ins. Continue it today!",
                    "🛡️ Shield used Your shield kept your 12-day streak of check-ins. Continue it today!",
                ]
            )
            let kinds = try await log(ann, world).map(\.kind)
            #expect(kinds.filter { $0 == .repairOffer }.count == 1 && kinds.filter { $0 == .streakBroken }.count == 2)
        }
    }
}
