import Bus
import CommonAPI
import Database
import Kernel
import Outbox
import SocialAPI
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Runtime
@testable import ServiceRuntime

/// A service that applies events when the test lets it.
private final class Applier: Sendable {
    struct State {
        var asked: [AwaitedEvent] = []
        var isReady = true
    }

    let state = Mutex(State())
    private let service: Mutex<BusService?> = Mutex(nil)

    init(_ name: String, _ bus: BusConnection) async throws {
        let endpoint = Endpoint(EventBarrier.method(of: name)) { [self] request, context in
            state.withLock { $0.asked += request.events }
            while state.withLock({ !$0.isReady }) {
                guard context.remaining > .milliseconds(50) else { throw EventBarrier.late }
                try await Task.sleep(for: .milliseconds(5))
            }
            return Empty()
        }
        let service = BusService(
            connection: bus,
            name: name,
            version: "1.0.0",
            endpoints: [endpoint],
            logger: PostgresServer.silence
        )
        try await service.start()
        self.service.withLock { $0 = service }
    }

    var asked: [AwaitedEvent] { state.withLock { $0.asked } }

    func set(ready: Bool) { state.withLock { $0.isReady = ready } }

    func stop() async { await service.withLock { $0 }?.drain() }
}

@Suite("A change that protects a user", .timeLimit(.minutes(10)))
struct ProtectionTests {
    private static let ann = UserID(high: 0, low: 1)
    private static let event = FriendshipEnded(
        friendshipID: FriendshipID(high: 1, low: 1),
        userAID: ann,
        userBID: UserID(high: 0, low: 2),
        endedAt: Instant(seconds: 0)
    )

    private func change(_ fixture: Fixture, _ text: String = "change", key: String?) async throws -> String {
        let mutations = Mutations(
            work: fixture.work,
            database: fixture.database,
            barrier: EventBarrier(database: fixture.database, bus: fixture.bus)
        )
        let context = CallContext(
            deadline: SystemClock.now() + .minutes(1),
            principal: Principal(userID: Self.ann, role: .user),
            idempotencyKey: key
        )
        let once: Once<Note> = try await mutations.once(context, Note(text), protecting: Self.ann) { work in
            let before = try await work.sql.query("SELECT 1 FROM effects").count
            guard before == 0 else { throw ServiceError.notFound("friendship") }
            _ = try await work.sql.execute("INSERT INTO effects VALUES (\(text))")
            try await work.emit(Self.event)
            return Note("changed")
        }
        return once.reply.text
    }

    /// Repeats the change with its key until it is answered, as callers do: on a busy machine it may take longer than a reply is held back.
    private func changeUntilAnswered(_ fixture: Fixture) async throws -> String {
        var reply = ""
        try await eventually("it is answered") {
            reply = try await change(fixture, key: "key")
            return true
        }
        return reply
    }

    private func isLate(_ body: () async throws -> String) async -> Bool {
        let error = await #expect(throws: ServiceError.self) { _ = try await body() }
        return error?.code == .unavailable && error?.retryAfter == 2
    }

    @Test func `is answered when every service has applied its event`() async throws {
        try await withFixture { fixture in
            let (streaks, media) = (try await Applier("streaks", fixture.bus), try await Applier("media", fixture.bus))
            media.set(ready: false)
            let isAnswered = Mutex(false)
            let changing = Task {
                let text = try await changeUntilAnswered(fixture)
                isAnswered.withLock { $0 = true }
                return text
            }
            try await eventually("both are asked") { !streaks.asked.isEmpty && !media.asked.isEmpty }
            #expect(!isAnswered.withLock { $0 })
            media.set(ready: true)
            #expect(try await changing.value == "changed")
            let id = try #require(
                try await fixture.database.query("SELECT id FROM outbox WHERE protects IS NULL").first?.decode(as: EventID.self)
            )
            #expect(Set(media.asked.map(\.eventID)) == [id] && media.asked.first?.subject == FriendshipEnded.subject)
            await streaks.stop()
            await media.stop()
        }
    }

    @Test func `is UNAVAILABLE until it has its effect, also to a repeat; then the repeat gets the first reply`() async throws {
        try await withFixture { fixture in
            let (streaks, media) = (try await Applier("streaks", fixture.bus), try await Applier("media", fixture.bus))
            streaks.set(ready: false)
            #expect(await isLate { try await change(fixture, key: "key") })
            #expect(try await fixture.database.query("SELECT 1 FROM effects").count == 1, "the change stands")
            #expect(await isLate { try await change(fixture, key: "key") })
            #expect(await isLate { try await change(fixture, "without a key", key: nil) })
            streaks.set(ready: true)
            #expect(try await changeUntilAnswered(fixture) == "changed")
            #expect(try await fixture.database.query("SELECT 1 FROM effects").count == 1)
            // From now on it is known, and no service is asked.
            await streaks.stop()
            await media.stop()
            #expect(try await change(fixture, key: "key") == "changed")
            let refusal = await #expect(throws: ServiceError.self) { try await change(fixture, "without a key", key: nil) }
            #expect(refusal?.code == .notFound)
        }
    }

    @Test func `is UNAVAILABLE while a service that must apply it is away`() async throws {
        try await withFixture { fixture in
            let streaks = try await Applier("streaks", fixture.bus)
            #expect(await isLate { try await change(fixture, key: "key") })
            let media = try await Applier("media", fixture.bus)
            #expect(try await changeUntilAnswered(fixture) == "changed")
            await streaks.stop()
            await media.stop()
        }
    }

    @Test func `a service says that it has applied an event when its features have, and what followed from it is applied too`()
        async throws
    {
        try await withFixture { fixture in
            let barrier = EventBarrier(database: fixture.database, bus: fixture.bus)
            let endpoint = AwaitEvents(service: "media", database: fixture.database, barrier: barrier)
            let id = EventID(high: 7, low: 7)
            func ask(_ event: any Event.Type, within limit: Interval = .milliseconds(300)) async throws -> String {
                let request = AwaitEventsRequest(events: [AwaitedEvent(eventID: id, subject: event.subject)])
                _ = try await endpoint.handle(request, CallContext.expiring(in: limit))
                return "applied"
            }
            #expect(try await ask(FriendRequestSent.self, within: .minutes(1)) == "applied", "it protects no one")
            #expect(await isLate { try await ask(FriendshipEnded.self) })
            try await fixture.database.execute("INSERT INTO inbox (event_id, feature) VALUES (\(id), 'core')")
            #expect(await isLate { try await ask(FriendshipEnded.self) }, "another feature applied it")
            try await fixture.database.execute("INSERT INTO inbox (event_id, feature) VALUES (\(id), 'cards')")
            #expect(try await ask(FriendshipEnded.self, within: .minutes(1)) == "applied")
            try await fixture.database.execute(
                """
                INSERT INTO event_retry (event_id, feature, aggregate, subject, trace, request_id, body)
                VALUES (\(id), 'cards', 'one', \(FriendshipEnded.subject), '', '', '')
                """
            )
            #expect(await isLate { try await ask(FriendshipEnded.self) }, "its handler failed")
            try await fixture.database.execute("DELETE FROM event_retry")
            // Its handler emitted another one, which `auth` must apply.
            try await fixture.work.run(trace: "", requestID: "") { work in
                try await work.protecting(id.cast(to: ProtectiveEvents.self)).emit(
                    ModerationActionTaken(
                        actionID: ModerationActionID(high: 3, low: 3),
                        userID: Self.ann,
                        action: .suspend,
                        takenAt: Instant(seconds: 0),
                        moderatorID: Self.ann,
                        reportID: ReportID(high: 4, low: 4)
                    )
                )
            }
            #expect(await isLate { try await ask(FriendshipEnded.self) })
            let (auth, streaks) = (try await Applier("auth", fixture.bus), try await Applier("streaks", fixture.bus))
            // On a busy machine `auth` may not answer in the two seconds that it has.
            try await eventually("it is applied") { try await ask(FriendshipEnded.self, within: .minutes(1)) == "applied" }
            #expect(Set(auth.asked.map(\.subject)) == [ModerationActionTaken.subject])
            await auth.stop()
            await streaks.stop()
        }
    }

    @Test func `handlers and the list of protective events must agree`() {
        let (ended, blocked) = (FriendshipEnded.subject, UserBlocked.subject)
        #expect(ProtectiveEvents.problem(service: "streaks", feature: "mutual", handling: [ended, "evt.social.v1.Other"]) == nil)
        #expect(ProtectiveEvents.problem(service: "streaks", feature: "mutual", handling: []) != nil)
        #expect(ProtectiveEvents.problem(service: "streaks", feature: "mutual", handling: [ended, blocked]) != nil)
        #expect(ProtectiveEvents.problem(service: "other", feature: "all", handling: ["evt.other.v1.Thing"]) == nil)
        // A service of another repository may handle them: no reply waits for it.
        #expect(ProtectiveEvents.problem(service: "other", feature: "all", handling: [ended, blocked]) == nil)
        #expect(ProtectiveEvents.problem(service: "billing", feature: "money", handling: [ended]) != nil)
    }
}
