import Foundation
import Kernel
import TestSupport
import Testing

@testable import NotificationsCore
@testable import NotificationsLive

/// Events of open apps: their ids, and how they reach the bus (NO-7).
struct LiveEventTests {
    private struct Undone: Error {}

    private func object(_ event: LiveEvent) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? NSDictionary)
    }

    @Test func `an event is a JSON object of ids, words and numbers`() throws {
        let (user, id) = (LiveWorld.user(1), NotificationID(high: 3, low: 4))
        let notification = LiveEvent.notification(to: user, id, type: "nudge", streak: StreakID(high: 5, low: 6))
        #expect(notification.name == "notification")
        #expect(
            try object(notification) == [
                "notification_id": id.description, "type": "nudge", "streak_id": StreakID(high: 5, low: 6).description,
                "friendship_id": NSNull(),
            ]
        )
        #expect(try object(.unreadCount(of: user, 7)) == ["unread_count": 7])
        let streak = try object(.streak(StreakID(high: 5, low: 6), of: user, .broken, count: 12))
        #expect(streak == ["streak_id": StreakID(high: 5, low: 6).description, "status": "broken", "count": 12])
        let hostile = LiveEvent.notification(to: user, id, type: "a\",\"b\":\"\n")
        #expect(try object(hostile)["type"] as? String == "ab")
    }

    @Test func `ids count without gaps whatever runs at once and is undone`() async throws {
        try await withLiveWorld { world in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<60 {
                    tasks.addTask {
                        do {
                            try await world.work.run(trace: "", requestID: "") { work in
                                // In every order of the users.
                                let users = (1...4).map { LiveWorld.user(UInt64(($0 + number) % 4)) }
                                try await world.live.append(users.map { .unreadCount(of: $0, Int32(number)) }, work)
                                if number % 5 == 0 { throw Undone() }
                            }
                        } catch is Undone {}
                    }
                }
                try await tasks.waitForAll()
            }
            for user in (0..<4).map({ LiveWorld.user(UInt64($0)) }) {
                let (last, events) = try await world.database.transaction { sql in
                    let last = try await LiveEventRepository.lock(user, sql)
                    return (last, try await LiveEventRepository.events(of: user, after: 0, limit: 1_000, sql))
                }
                #expect(last == 48 && events.map(\.id) == Array(1...48))
            }
        }
    }

    @Test func `several events of one user in one call keep their order`() async throws {
        try await withLiveWorld { world in
            let (ann, ben) = (LiveWorld.user(1), LiveWorld.user(2))
            try await world.append(2, to: ann)
            try await world.work.run(trace: "", requestID: "") { work in
                try await world.live.append(
                    [.unreadCount(of: ann, 1), .unreadCount(of: ben, 2), .unreadCount(of: ann, 3)],
                    work
                )
            }
            let page = try await world.open(1, of: ann, after: "2")
            #expect(page.events.map(\.id) == [3, 4])
            #expect(page.events.map(\.data) == ["{\"unread_count\":1}", "{\"unread_count\":3}"])
        }
    }

    @Test func `what is committed is published, and nothing else`() async throws {
        try await withLiveWorld { world in
            let user = LiveWorld.user(1)
            let arrivals = Arrivals()
            try world.bus.subscribe("live.notifications.\(user)") { arrivals.take($0) }
            try await world.bus.flush()
            try? await world.work.run(trace: "", requestID: "") { work in
                try await world.live.append([.unreadCount(of: user, 9)], work)
                throw Undone()
            }
            try await world.append(30, to: user)
            try await eventually("all have arrived") { Set(arrivals.ids) == Set(1...30) }
            #expect(arrivals.names == ["unread_count"])
            try await eventually("all are marked") { try await world.events.unpublished(limit: 10).isEmpty }
        }
    }

    @Test func `what a replica has left behind is published by another one`() async throws {
        try await withLiveWorld { world in
            let user = LiveWorld.user(1)
            let arrivals = Arrivals()
            try world.bus.subscribe("live.notifications.\(user)") { arrivals.take($0) }
            try await world.bus.flush()
            // It was killed after the commit.
            try await world.database.transaction { sql in
                try await LiveEventRepository.append(
                    (0..<1_200).map { .unreadCount(of: user, $0) },
                    now: SystemClock.now(),
                    sql
                )
            }
            #expect(try await world.live.publishLeft() == 1_200)
            #expect(try await world.live.publishLeft() == 0)
            try await eventually("they are there, in order") { arrivals.ids == Array(1...1_200) }
        }
    }

    @Test func `the last unread count of a stream is that of the last commit, whatever runs at once`() async throws {
        try await withLiveWorld { world in
            let user = LiveWorld.user(1)
            let log = NotificationRepository(database: world.database)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<40 {
                    tasks.addTask {
                        try await world.work.run(trace: "", requestID: "") { work in
                            _ = try await world.live.changeLog(of: user, log, work) {
                                let id: NotificationID = work.ids.make()
                                let new = NewNotification(user: user, kind: .test)
                                try await NotificationRepository.insert([new], ids: [id], now: work.now, work.sql)
                                if number % 3 == 0 {
                                    _ = try await NotificationRepository.markRead([id], of: user, now: work.now, work.sql)
                                }
                                return []
                            }
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            let page = try await world.open(1, of: user, after: "0")
            // One more for each that is not read at once, in the order of the commits.
            let counts = page.events.compactMap { Int($0.data.filter(\.isNumber)) }
            #expect(counts.count == 40 && counts.last == 26)
            #expect(counts == counts.sorted(), "\(counts)")
        }
    }
}
