import Bus
import Kernel
import StreaksAPI
import Testing

@testable import StreaksCore
@testable import StreaksOutages

/// Outages that administrators declare (SD-7).
struct OutageDeclarationTests {
    private let admin = CallContext(
        requestID: "declaration",
        deadline: SystemClock.now() + .minutes(2),
        principal: Principal(userID: UserID(high: 9, low: 9), role: .admin)
    )
    private let from = Instant(seconds: 1_800_000_000)

    private func declare(_ request: DeclareOutageRequest, in world: World, by context: CallContext? = nil) async throws
        -> DeclareOutageReply
    {
        try await DeclareOutage(mutations: world.mutations).handle(request, context ?? admin).reply
    }

    private func request(_ start: Instant, hours: Int, _ reason: String = "The database was full.") -> DeclareOutageRequest {
        DeclareOutageRequest(from: start, until: start + .hours(Int64(hours)), reason: reason)
    }

    @Test func `an outage is declared once, is listed with its reason, and emits who declared it`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let first = try await declare(request(from, hours: 3), in: world)
            #expect(first.isNew && first.outage?.status == .waiting && first.outage?.reason == "The database was full.")
            let again = try await declare(request(from, hours: 3, "Another word"), in: world)
            #expect(!again.isNew && again.outage == first.outage)
            _ = try await declare(request(from + .days(1), hours: 1, "Later"), in: world)
            var (found, cursor) = ([Outage](), "")
            repeat {
                let page = try await ListOutages(database: world.database)
                    .handle(ListOutagesRequest(limit: 1, cursor: cursor), admin)
                #expect(page.outages.count == 1)
                found += page.outages
                cursor = page.meta?.nextCursor ?? ""
            } while !cursor.isEmpty
            #expect(found.map(\.reason) == ["Later", "The database was full."], "the one that began last first")
            let emitted = try await world.database.query("SELECT 1 FROM outbox WHERE subject = \(OutageDeclared.subject)")
            #expect(emitted.count == 2, "one for each outage")
        }
    }

    @Test func `what cannot be an outage is refused by the name of the field, and only administrators may declare one`()
        async throws
    {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            for (bad, field) in [
                (request(from, hours: 0), "until"), (request(from, hours: -1), "until"),
                (request(from, hours: 14 * 24 + 1), "until"),
                (DeclareOutageRequest(until: from, reason: "x"), "from"),
                (DeclareOutageRequest(from: from, reason: "x"), "until"),
            ] {
                let refusal = await #expect(throws: ServiceError.self) { try await declare(bad, in: world) }
                #expect(refusal?.reason == "VALIDATION_ERROR" && refusal?.details.map(\.field) == [field])
            }
            let none = await #expect(throws: ServiceError.self) {
                try await declare(DeclareOutageRequest(reason: "x"), in: world)
            }
            #expect(none?.details.map(\.field) == ["from", "until"])
            let user = CallContext(
                deadline: SystemClock.now() + .minutes(2),
                principal: Principal(userID: UserID(high: 9, low: 9), role: .user)
            )
            let refusal = await #expect(throws: ServiceError.self) {
                try await declare(request(from, hours: 1), in: world, by: user)
            }
            #expect(refusal?.reason == "ADMIN_ONLY")
            let declared = try await OutageRepository.list(limit: 10, world.database)
            #expect(declared.isEmpty)
        }
    }
}
