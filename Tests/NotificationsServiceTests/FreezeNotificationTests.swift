import Database
import Kernel
import NotificationsAPI
import NotificationsDomain
import StreaksAPI
import TestSupport
import Testing
import Wire

@testable import NotificationsCore

/// A freeze that is used, and one that comes back because its date needs it no longer (NO-1, CI-2, SD-6).
struct FreezeNotificationTests {
    private let date = Zone.utc.date(at: noon).advanced(by: -1)

    private func used(
        _ user: UserID,
        _ left: Int32 = 0,
        on date: CalendarDate? = nil,
        of streak: StreakID = World.streak,
        byHand: Bool = false
    ) -> FreezeUsed {
        FreezeUsed(
            streakID: streak,
            userID: user,
            kind: .checkIn,
            date: date ?? self.date,
            freezesLeft: left,
            byHand: byHand,
            count: 12,
            at: noon
        )
    }

    private func returned(_ user: UserID, _ left: Int32 = 1, byHand: Bool = false) -> FreezeReturned {
        FreezeReturned(
            streakID: World.streak,
            userID: user,
            kind: .checkIn,
            date: date,
            freezesLeft: left,
            at: noon,
            byHand: byHand
        )
    }

    /// The entries of a user's log, the newest first.
    private func log(_ user: UserID, _ world: World) async throws -> [StoredNotification] {
        try await world.core.log.list(of: user, before: nil, limit: 50)
    }

    @Test(arguments: [false, true])
    func `who was pushed that a freeze was used is pushed that it is back, and the first entry is read`(byHand: Bool) async throws
    {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            try await world.consume(used(ann, byHand: byHand))
            try await world.push()
            #expect(try world.expo.pushes.map(\.title) == ["⚠️ No freezes left!"])
            try await world.consume(returned(ann, byHand: byHand))
            try await world.push()
            let push = try #require(try world.expo.pushes.last)
            #expect(push.title == "❄️ Your freeze is back!" && push.badge == 1 && push.channelId == "streaks")
            #expect(push.body == "The day it was used on no longer needs it. You have 1 freeze now.")
            #expect(push.data.type == "freeze_returned" && push.data.deep_link == "streaksnap://home")
            #expect(push.collapseId == "freeze_returned:\(World.streak)")
            #expect(try world.expo.pushes.map(\.data.type) == ["last_freeze", "freeze_returned"])
            let entries = try await log(ann, world)
            #expect(entries.map(\.kind) == [.freezeReturned, .lastFreeze])
            #expect(entries.map { $0.readAt == nil } == [true, false])
            #expect(entries.allSatisfy { $0.streak == World.streak && $0.date == date })
            // The user has not looked at it.
            let opened = try await events(NotificationOpened.self, world)
            #expect(opened.map(\.all) == [true])
        }
    }

    @Test(arguments: [Int32(0), 2])
    func `a push of a use that waits for the end of quiet hours does not leave any more, nor does one of the return`(left: Int32)
        async throws
    {
        // Midnight in UTC.
        try await withWorld(at: noon + .hours(12)) { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            try await world.consume(used(ann, left))
            #expect(try await world.states() == ["queued 1"])
            try await world.consume(returned(ann, left + 1))
            world.clock.set(noon + .hours(19))
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
            #expect(try await world.reasons() == ["read"])
            let list = try await world.list(ann)
            #expect(list.unreadCount == 1 && list.notifications.map(\.type.name).first == "freeze_returned")
            #expect(list.notifications.count == 2)
        }
    }

    @Test func `both at once make entries in their order`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try await world.consumeTogether([used(ann), used(ben, of: StreakID(high: 3, low: 4)), returned(ann)])
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
            #expect(try await log(ann, world).map { $0.readAt == nil } == [true, false])
            #expect(try await world.list(ben).unreadCount == 1)
        }
    }

    @Test func `a return is about one streak and date of one user`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.consume(used(ann))
            try await world.consume(used(ann, on: date.advanced(by: 1)))
            try await world.consume(used(ann, of: StreakID(high: 3, low: 4)))
            try await world.consume(used(ben))
            try await world.consume(returned(ann))
            let read = try await log(ann, world).filter { $0.readAt != nil }
            #expect(read.map(\.date) == [date] && read.map(\.streak) == [World.streak])
            #expect(try await world.list(ann).unreadCount == 3)
            #expect(try await world.list(ben).unreadCount == 1)
        }
    }

    @Test func `what the user has read stays as it is, and who had no push of the use gets none of the return`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.consume(used(ann))
            let first = try #require(try await log(ann, world).first)
            _ = try await world.markRead(ann, one: first.id)
            let readAt = try #require(try await log(ann, world).first?.readAt)
            // The device comes too late for the one, and in time for the other.
            try await world.device(ann, "phone")
            world.clock.advance(by: .hours(1))
            try await world.consume(returned(ann))
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
            let entries = try await log(ann, world)
            #expect(entries.map(\.kind) == [.freezeReturned, .lastFreeze] && entries.last?.readAt == readAt)
            #expect(try await events(NotificationOpened.self, world).map(\.all) == [false])
        }
    }

    @Test func `of several uses of a date the last one says whether the return is pushed`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            for isPushed in [true, false] {
                try await world.consume(used(ann, 1))
                if isPushed { try await world.push() }
                try await world.consume(returned(ann, 2))
                try await world.push()
            }
            #expect(try world.expo.pushes.map(\.data.type) == ["freeze_used", "freeze_returned"])
            #expect(try await log(ann, world).map(\.kind) == [.freezeReturned, .freezeUsed, .freezeReturned, .freezeUsed])
            #expect(try await world.list(ann).unreadCount == 2)
        }
    }

    @Test func `a return of which no use is known is in the log only`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            try await world.consume(returned(ann))
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
            #expect(try await log(ann, world).map(\.kind) == [.freezeReturned])
            #expect(try await world.list(ann).unreadCount == 1)
        }
    }

    private func events<E: Event>(_: E.Type, _ world: World) async throws -> [E] {
        try await world.database.query("SELECT body FROM outbox WHERE subject = \(E.subject) ORDER BY position")
            .map { try E(serialized: try $0.decode(as: [UInt8].self)) }
    }
}
