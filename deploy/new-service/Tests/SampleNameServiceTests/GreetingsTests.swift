import AuthAPI
import Foundation
import SampleNameAPI
import SampleNameService
import ServiceKitTesting
import Testing

/// The service on a real PostgreSQL and a real NATS, with the rights that `deploy/services.json` gives it.
@Suite struct GreetingsTests {
    private typealias Service = TestService<SampleNameModule>
    private static let ann = UserID(high: 1, low: 1)

    private func withService(_ body: (Service) async throws -> Void) async throws {
        let file = URL(filePath: #filePath).appending(path: "../../../deploy/services.json").standardizedFileURL.path
        let service = try await Service.start(services: FurtherServices(file: file))
        do { try await body(service) } catch {
            await service.stop()
            throw error
        }
        await service.stop()
    }

    private func profile(_ name: String, version: Int64) -> ProfileChanged {
        ProfileChanged(
            userID: Self.ann,
            profile: ProfileState(userID: Self.ann, version: version, displayName: name, timeZone: "UTC", status: .active)
        )
    }

    @Test func `a greeting is counted and emitted once for each key`() async throws {
        try await withService { service in
            let greetings = GreetingsClient(service.bus)
            let first = try await greetings.greet(GreetRequest(), context: Service.by(Self.ann, key: "a"))
            #expect(first == GreetReply(text: "Hello!", greetings: 1))
            let again = try await greetings.greet(GreetRequest(), context: Service.by(Self.ann, key: "a"))
            #expect(again == first)
            let second = try await greetings.greet(GreetRequest(word: "Welcome"), context: Service.by(Self.ann, key: "b"))
            #expect(second == GreetReply(text: "Welcome!", greetings: 2))
            try await eventually("both are emitted") {
                let events = try await service.published(Greeted.self)
                return events.map(\.greetings) == [1, 2] && events.allSatisfy { $0.userID == Self.ann }
            }
        }
    }

    @Test func `users are called by the newest name that auth has emitted`() async throws {
        try await withService { service in
            try await service.publish(profile("Ann", version: 2))
            try await eventually("the name is known") {
                try await service.database.query("SELECT 1 FROM visitor WHERE display_name = 'Ann'").count == 1
            }
            try await service.publish(profile("Anna", version: 3))
            // It was emitted before, and comes late.
            try await service.publish(profile("Annie", version: 1))
            try await eventually("all three are consumed") {
                try await service.database.query("SELECT 1 FROM inbox").count == 3
            }
            let reply = try await GreetingsClient(service.bus).greet(GreetRequest(), context: Service.by(Self.ann))
            #expect(reply.text == "Hello, Anna!")
        }
    }

    @Test func `what is wrong with a request is refused by field`() async throws {
        try await withService { service in
            let greetings = GreetingsClient(service.bus)
            let long = await #expect(throws: ServiceError.self) {
                try await greetings.greet(
                    GreetRequest(word: String(repeating: "x", count: 21)),
                    context: Service.by(Self.ann)
                )
            }
            #expect(long?.details.map(\.field) == ["word"])
            let unknown = await #expect(throws: ServiceError.self) {
                try await greetings.greet(GreetRequest(), context: .expiring(in: .seconds(10)))
            }
            #expect(unknown?.code == .unauthenticated)
        }
    }

    @Test func `nothing is left of a user whose account is purged`() async throws {
        try await withService { service in
            _ = try await GreetingsClient(service.bus).greet(GreetRequest(), context: Service.by(Self.ann, key: "a"))
            try await service.publish(AccountPurged(userID: Self.ann, purgedAt: SystemClock().now()))
            try await eventually("no row names the user") {
                let rows = try await service.database.query(
                    "SELECT user_id FROM visitor UNION ALL SELECT user_id FROM stored_reply"
                )
                return rows.isEmpty
            }
        }
    }

    @Test func `every table is declared`() async throws {
        try await withService { service in
            let problems = try await service.personalDataProblems()
            #expect(problems == [])
        }
    }
}
