import CommonAPI
import Kernel
import TestSupport
import Testing

@testable import NotificationsCore
@testable import NotificationsLive

/// What a gateway gets when it opens a stream, and how many a user may have (NO-7).
struct WatchTests {
    private let ann = LiveWorld.user(1)

    private func isReset(_ page: StreamPage, at last: Int64) -> Bool {
        page == StreamPage(events: [StreamEvent(id: last, name: "reset", data: "{}")], lastID: last)
    }

    @Test func `a client that comes back gets exactly what it has missed`() async throws {
        try await withLiveWorld { world in
            try await world.append(6, to: ann)
            try await world.append(3, to: LiveWorld.user(2))
            let page = try await world.open(1, of: ann, after: "4")
            #expect(page.events.map(\.id) == [5, 6] && page.lastID == 6)
            #expect(try await world.open(1, of: ann, after: "6") == StreamPage(events: [], lastID: 6))
        }
    }

    @Test(arguments: ["", "x", "-1", "7", "9223372036854775808", "4.0"])
    func `an id that is none of the user's begins with a reset`(id: String) async throws {
        try await withLiveWorld { world in
            try await world.append(6, to: ann)
            #expect(isReset(try await world.open(1, of: ann, after: id), at: 6))
            #expect(isReset(try await world.open(2, of: LiveWorld.user(3), after: id), at: 0))
        }
    }

    @Test func `an id from before what is kept begins with a reset, and so does one with too much after it`() async throws {
        try await withLiveWorld { world in
            try await world.append(4, to: ann)
            let later = SystemClock.now() + .minutes(11)
            var purged = 0
            // One that is just being noted as published is left to the next run.
            try await eventually("all of them are purged") {
                purged += try await world.events.purge(before: later - LiveFeature.kept)
                return purged == 4
            }
            #expect(isReset(try await world.open(1, of: ann, after: "2"), at: 4))
            #expect(try await world.open(1, of: ann, after: "4") == StreamPage(events: [], lastID: 4))
            try await world.append(1, to: ann)
            #expect(try await world.open(1, of: ann, after: "4").events.map(\.id) == [5])
            #expect(isReset(try await world.open(1, of: ann, after: "3"), at: 5))
            try await world.database.transaction { sql in
                try await LiveEventRepository.append(
                    (0..<Int32(Watch.mostMissed)).map { .unreadCount(of: ann, $0) },
                    now: SystemClock.now(),
                    sql
                )
            }
            let last = Int64(5 + Watch.mostMissed)
            #expect(isReset(try await world.open(1, of: ann, after: "4"), at: last))
            #expect(try await world.open(1, of: ann, after: "5").events.count == Watch.mostMissed)
        }
    }

    @Test func `of many that are opened at once five stay, and repeats of these count once`() async throws {
        try await withLiveWorld { world in
            let opened = try await withThrowingTaskGroup(of: UInt64?.self) { tasks in
                for lease in UInt64(1)...20 {
                    tasks.addTask {
                        let refusal = try await world.refusal { try await world.open(lease, of: LiveWorld.user(1)) }
                        #expect(refusal == nil || refusal == "TOO_MANY_STREAMS")
                        return refusal == nil ? lease : nil
                    }
                }
                return try await tasks.reduce(into: [UInt64]()) { if let lease = $1 { $0.append(lease) } }
            }
            try #require(opened.count == 5)
            for lease in opened { _ = try await world.open(lease, of: ann, after: "0") }
            #expect(try await world.refusal { try await world.open(99, of: ann) } == "TOO_MANY_STREAMS")
            // Another user has five of their own, and no user has another's.
            #expect(try await world.refusal { try await world.open(100, of: LiveWorld.user(2)) } == nil)
            #expect(try await world.refusal { try await world.open(opened[0], of: LiveWorld.user(2)) } == "TOO_MANY_STREAMS")
            _ = try await world.renew([], ending: [opened[0]])
            #expect(try await world.refusal { try await world.open(99, of: ann) } == nil)
        }
    }

    @Test func `a lease that is not renewed makes room, and can still be renewed for a while`() async throws {
        try await withLiveWorld { world in
            for lease in UInt64(1)...5 { _ = try await world.open(lease, of: ann) }
            try await world.database.execute("UPDATE live_lease SET expires_at = clock_timestamp() - interval '1 second'")
            #expect(try await world.refusal { try await world.open(6, of: ann) } == nil)
            #expect(try await world.renew([1, 6, 77]).count == 2)
            let leases = LeaseRepository(database: world.database)
            #expect(try await leases.purge() == 0)
            try await world.database.execute(
                "UPDATE live_lease SET expires_at = clock_timestamp() - interval '11 minutes' WHERE id <> \(LiveWorld.lease(1))"
            )
            #expect(try await leases.purge() == 5)
            #expect(try await world.renew([1, 2]) == [LiveWorld.lease(1): 0])
        }
    }

    @Test func `a renewal says the newest id of each stream's user`() async throws {
        try await withLiveWorld { world in
            _ = try await world.open(1, of: ann)
            _ = try await world.open(2, of: LiveWorld.user(2))
            try await world.append(3, to: ann)
            #expect(try await world.renew([1, 2]) == [LiveWorld.lease(1): 3, LiveWorld.lease(2): 0])
        }
    }
}
