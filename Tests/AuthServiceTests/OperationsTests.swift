import AuthAPI
import Bus
import CommonAPI
import Database
import Foundation
import Kernel
import TestSupport
import Testing

@testable import AuthOperations

/// What administrators are shown of all services, with `auth` itself, four services that do not say what waits, and one that is away.
@Suite(.serialized, .timeLimit(.minutes(5))) struct OperationsTests {
    /// With a deadline of its own each time.
    private static var admin: CallContext { World.context(UserID(high: 9, low: 9), role: .admin) }

    /// Parks an event in a feature that no replica runs: nothing tries it again.
    private func park(_ world: World) async throws -> EventID {
        let id: EventID = UUIDv7Source(clock: SystemClock()).make()
        _ = try await world.database.execute(
            """
            INSERT INTO auth.event_retry (event_id, feature, aggregate, subject, trace, request_id, body, attempts, parked_at, last_error)
            VALUES (\(id), 'nowhere', \("\(id)"), 'evt.social.v1.Tested', '', '', 'a secret', 10, clock_timestamp(), 'why')
            """
        )
        return id
    }

    @Test func `replicas are shown with what they answered, and a service that is away has none`() async throws {
        let world = try await World.shared.value
        let client = OperationsClient(world.bus)
        _ = await reason { try await world.profiles.getMe(GetMeRequest(), context: World.context()) }
        let services = try await client.listReplicas(ListReplicasRequest(), context: Self.admin).services
        #expect(services.map(\.service) == ServiceRoster.product)
        #expect(services.first { $0.service == "billing" }?.replicas.isEmpty == true)
        let replica = try #require(services.first { $0.service == "auth" }?.replicas.first)
        #expect(replica.requests > 0 && replica.errors > 0 && replica.errors <= replica.requests)
        #expect(replica.features.contains("operations") && !replica.isWithoutDatabase && !replica.version.isEmpty)
        let startedAt = try #require(replica.startedAt)
        #expect(startedAt <= SystemClock.now() && SystemClock.now() - startedAt < .hours(1))
        #expect(services.first { $0.service == "media" }?.replicas.first?.version == "1.0.0")
    }

    @Test func `backlogs are shown of the services that say them, within a bounded time`() async throws {
        let world = try await World.shared.value
        let id = try await park(world)
        let services = try await OperationsClient(world.bus).listBacklogs(ListBacklogsRequest(), context: Self.admin).services
        #expect(services.filter(\.answers).map(\.service) == ["auth"], "the others are not asked for it, or are away")
        let own = try #require(services.first { $0.service == "auth" })
        #expect(own.features.contains { $0.feature == "accounts" && $0.pending != nil })
        #expect(own.features.contains { $0.feature == "nowhere" && $0.pending == nil && $0.parked >= 1 })
        #expect(own.jobs.contains { $0.job == "expired_sessions" })
        _ = try await world.database.execute("DELETE FROM auth.event_retry WHERE event_id = \(id)")
    }

    @Test func `a parked event is tried again once, and who did it is in the audit log`() async throws {
        let world = try await World.shared.value
        let id = try await park(world)
        let client = OperationsClient(world.bus)
        let listed = try await client.listParkedEvents(ListParkedEventsRequest(), context: Self.admin)
        #expect(listed.events.contains { $0.service == "auth" && $0.event?.eventID == id && $0.event?.lastError == "why" })
        #expect(listed.unanswered == ["billing", "media", "notifications", "social", "streaks"])
        let key = "redrive-\(id)"
        let context = World.context(UserID(high: 9, low: 9), role: .admin, key: key)
        let request = RedriveEventsRequest(service: "auth", eventID: id)
        #expect(try await client.redriveEvents(request, context: context).redriven == 1)
        #expect(try await client.redriveEvents(request, context: context).redriven == 1, "the first answer, by its key")
        #expect(try await client.redriveEvents(request, context: Self.admin).redriven == 0)
        let noted = try await world.database.query(
            "SELECT detail, subject_id IS NULL FROM auth.admin_action WHERE kind = 15 AND detail = \("auth: the event \(id)")"
        )
        #expect(noted.count == 2, "one for each operation")
        let after = try await client.listParkedEvents(ListParkedEventsRequest(service: "auth"), context: Self.admin)
        #expect(!after.events.contains { $0.event?.eventID == id } && after.unanswered.isEmpty)
        _ = try await world.database.execute("DELETE FROM auth.event_retry WHERE event_id = \(id)")
    }

    @Test func `parked events come page by page, each once, whatever is tried again meanwhile`() async throws {
        let world = try await World.shared.value
        let client = OperationsClient(world.bus)
        var ids: [EventID] = []
        for _ in 0..<5 { ids.append(try await park(world)) }
        var (found, cursor, pages): ([EventID], String?, Int) = ([], "", 0)
        while let place = cursor, pages < 9 {
            let request = ListParkedEventsRequest(limit: 2, cursor: place)
            let page = try await client.listParkedEvents(request, context: Self.admin)
            found += page.events.compactMap { $0.event?.eventID }
            cursor = page.meta?.nextCursor
            pages += 1
            // The last one that was sent: the next page begins behind it none the less.
            let redrive = RedriveEventsRequest(service: "auth", eventID: found.last)
            #expect(try await client.redriveEvents(redrive, context: Self.admin).redriven == 1)
        }
        #expect(found == ids && pages == 3, "\(found)")
        _ = try await world.database.execute(
            "UPDATE auth.event_retry SET parked_at = clock_timestamp() WHERE feature = 'nowhere'"
        )
        let other = RedriveEventsRequest(service: "auth", feature: "accounts")
        #expect(try await client.redriveEvents(other, context: Self.admin).redriven == 0)
        let feature = RedriveEventsRequest(service: "auth", feature: "nowhere")
        #expect(try await client.redriveEvents(feature, context: Self.admin).redriven == 5)
        let noted = "auth: all parked events of nowhere"
        let rows = try await world.database.query("SELECT 1 FROM auth.admin_action WHERE detail = \(noted)")
        #expect(rows.count == 1)
        _ = try await world.database.execute("DELETE FROM auth.event_retry WHERE feature = 'nowhere'")
    }

    @Test func `what is no service is refused by name, one that is away is said to be, and only administrators may ask`()
        async throws
    {
        let world = try await World.shared.value
        let client = OperationsClient(world.bus)
        for name in ["nothing", "auth.v1", "a b", ">", "*", String(repeating: "x", count: 32)] {
            let refusal = await #expect(throws: ServiceError.self) {
                try await client.redriveEvents(RedriveEventsRequest(service: name), context: Self.admin)
            }
            #expect(refusal?.reason == "VALIDATION_ERROR" && refusal?.details.map(\.field) == ["service"], "\(name)")
            let list = await #expect(throws: ServiceError.self) {
                try await client.listParkedEvents(ListParkedEventsRequest(service: name), context: Self.admin)
            }
            #expect(list?.details.map(\.field) == ["service"], "\(name)")
        }
        let away = await #expect(throws: ServiceError.self) {
            try await client.redriveEvents(RedriveEventsRequest(service: "billing"), context: Self.admin)
        }
        #expect(away?.reason == "SERVICE_AWAY" && away?.details.map(\.field) == ["service"])
        let user = World.context(UserID(high: 9, low: 9))
        #expect(await reason { try await client.listReplicas(ListReplicasRequest(), context: user) } == "ADMIN_ONLY")
        #expect(await reason { try await client.listBacklogs(ListBacklogsRequest(), context: user) } == "ADMIN_ONLY")
        #expect(await reason { try await client.listParkedEvents(ListParkedEventsRequest(), context: user) } == "ADMIN_ONLY")
        let redrive = RedriveEventsRequest(service: "auth")
        #expect(await reason { try await client.redriveEvents(redrive, context: user) } == "ADMIN_ONLY")
    }

    @Test func `replicas with different features are put together`() {
        let (early, late) = (Instant(seconds: 10), Instant(seconds: 20))
        let one = BacklogReply(
            unpublished: 2,
            features: [FeatureBacklog(feature: "mutual", pending: 5, parked: 1), FeatureBacklog(feature: "typed", parked: 3)],
            jobs: [JobStanding(job: "purge", lastSuccessAt: late, lastFailureAt: early, lastError: "then")]
        )
        let two = BacklogReply(
            unpublished: 1,
            features: [
                FeatureBacklog(feature: "mutual", pending: 4, parked: 1), FeatureBacklog(feature: "typed", pending: 7, parked: 3),
            ],
            jobs: [JobStanding(job: "purge", lastSuccessAt: early, lastFailureAt: late, lastError: "now")]
        )
        for replies in [[one, two], [two, one]] {
            let both = ServiceBacklog("streaks", merging: replies)
            #expect(both.answers && both.features.map(\.pending) == [4, 7] && both.features.map(\.parked) == [1, 3])
            #expect(both.jobs.map(\.lastError) == ["now"] && both.jobs.map(\.lastSuccessAt) == [late])
        }
        #expect(!ServiceBacklog("streaks", merging: []).answers)
    }
}
