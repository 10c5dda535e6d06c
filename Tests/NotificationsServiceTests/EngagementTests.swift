import Database
import Kernel
import NotificationsAPI
import TestSupport
import Testing
import Wire

@testable import NotificationsCore
@testable import NotificationsPush
@testable import Outbox

/// What figures about notifications count (TS-5): once for each entry that is opened and each step of a push.
struct EngagementTests {
    private func emitted<E: Event>(_: E.Type, _ world: World) async throws -> [E] {
        try await world.database.query("SELECT body FROM outbox WHERE subject = \(E.subject) ORDER BY position").map {
            try E(serialized: try $0.decode(as: [UInt8].self))
        }
    }

    /// The sums of all events.
    private func sums(_ world: World) async throws -> [Kind: DeliveryCount] {
        var sums: [Kind: DeliveryCount] = [:]
        for count in try await emitted(NotificationDelivered.self, world).flatMap(\.counts) {
            var sum = sums[count.kind] ?? DeliveryCount(kind: count.kind, date: count.date)
            sum.pushed += count.pushed
            sum.sent += count.sent
            sum.received += count.received
            sum.failed += count.failed
            sums[count.kind] = sum
        }
        return sums
    }

    @Test func `pushes are counted by kind when they are sent, received and refused, and an entry once for all its devices`()
        async throws
    {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for name in ["phone", "tablet", "gone"] { try await world.device(ann, name) }
            try world.expo.behave("{\"tickets\": {\"\(World.token("gone"))\": \"DeviceNotRegistered\"}}")
            try await world.request(ben, ann)
            try await world.posted(ben, for: ann)
            try await world.push()
            let sent = try await sums(world)
            #expect(sent[.friendRequest].map { [$0.pushed, $0.sent, $0.received, $0.failed] } == [1, 2, 0, 1])
            #expect(sent[.friendPosted].map { [$0.pushed, $0.sent, $0.received, $0.failed] } == [1, 2, 0, 1])
            #expect(sent[.friendPosted]?.date == Zone.utc.date(at: world.clock.now()))
            world.clock.advance(by: .minutes(15))
            try await world.run("push_receipts")
            let received = try await sums(world)
            #expect(received[.friendRequest].map { [$0.pushed, $0.sent, $0.received, $0.failed] } == [1, 2, 2, 1])
            // As a recount of the pushes says.
            let rows = try await world.database.query(
                """
                SELECT n.kind::int, (count(*) FILTER (WHERE d.sent_at IS NOT NULL))::int, (count(*) FILTER (WHERE d.state = 2))::int,
                    (count(*) FILTER (WHERE d.state = 3))::int, count(DISTINCT n.id) FILTER (WHERE n.pushed_at IS NOT NULL)
                FROM delivery d JOIN notification n ON n.id = d.notification_id GROUP BY 1
                """
            )
            #expect(rows.count == 2)
            for row in rows {
                let (kind, sent, received, failed, pushed) = try row.decode(
                    as: (Int32.self, Int32.self, Int32.self, Int32.self, Int64.self)
                )
                let sum = try #require(try await sums(world)[Kind(rawValue: kind)])
                #expect([sum.sent, sum.received, sum.failed] == [sent, received, failed] && Int64(sum.pushed) == pushed)
            }
        }
    }

    @Test func `a push that leaves again because its device got too many is counted as sent once`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try world.expo.behave("{\"receipts\": {\"\(World.token("phone"))\": \"MessageRateExceeded\"}}")
            try await world.request(ben, ann)
            try await world.push()
            world.clock.advance(by: .minutes(15))
            try await world.run("push_receipts")
            #expect(try await world.states() == ["queued 1"])
            try world.expo.behave("{}")
            world.clock.advance(by: .minutes(10))
            try await world.run("pushes")
            world.clock.advance(by: .minutes(15))
            try await world.run("push_receipts")
            #expect(try await world.states() == ["received 1"])
            let sum = try #require(try await sums(world)[.friendRequest])
            #expect([sum.pushed, sum.sent, sum.received, sum.failed] == [1, 1, 1, 0])
        }
    }

    @Test func `what a user opens is emitted once, with how much of it had been pushed`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try await world.request(ben, ann)
            try await world.push()
            let written = Zone.utc.date(at: world.clock.now())
            world.clock.advance(by: .days(1))
            // Not pushed.
            try await world.posted(ben, for: ann)
            let ids = try await world.database.query("SELECT id FROM notification WHERE user_id = \(ann)").map {
                try $0.decode(as: NotificationID.self)
            }
            for _ in 0..<2 { _ = try await world.markRead(ann, MarkReadRequest(ids: ids)) }
            let opened = try await emitted(NotificationOpened.self, world)
            #expect(opened.count == 1, "what was read before is not opened again")
            let event = try #require(opened.first)
            #expect(event.userID == ann && event.openedAt == world.clock.now() && !event.all)
            #expect(event.counts.map(\.kind) == [.friendRequest, .friendPosted])
            #expect(event.counts.map(\.date) == [written, written.advanced(by: 1)])
            #expect(event.counts.map(\.opened) == [1, 1] && event.counts.map(\.pushed) == [1, 0])
            try await world.posted(ben, for: ann, count: 6)
            _ = try await world.markRead(ann, MarkReadRequest(all: true))
            #expect(try await emitted(NotificationOpened.self, world).map(\.all) == [false, true])
        }
    }
}
