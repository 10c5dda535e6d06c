import Bus
import DevEnvironment
import Foundation
import Kernel
import TestSupport
import Testing

/// What a service that was taken over could do to the others over the bus (D9).
@Suite struct BusRightsTests {
    private struct Service: Decodable {
        struct Endpoint: Decodable {
            let name: String
            let num_requests: Int?
        }
        let name: String
        let metadata: [String: String]?
        let endpoints: [Endpoint]?
    }

    /// What every replica says of itself.
    private func ask(_ subject: String, _ bus: BusConnection, atLeast count: Int) async throws -> [Service] {
        var services: [Service] = []
        try await eventually("every service answers \(subject)") {
            let answers = try await bus.scatter(subject, for: .seconds(2), atMost: count)
            services = try answers.map { try JSONDecoder().decode(Service.self, from: Data($0.body)) }
            return services.count == count
        }
        return services
    }

    private func requests(_ method: String, of service: String, _ bus: BusConnection) async throws -> Int {
        let answer = try #require(try await ask("$SRV.STATS.\(service)", bus, atLeast: 1).first)
        return try #require(answer.endpoints?.first { $0.name == method }?.num_requests)
    }

    @Test func `every service consumes what the table of rights says, no less and no more`() async throws {
        let home = try await Installation.shared.value
        let bus = try await home.bus()
        var services: [Service] = []
        try await eventually("every service answers") {
            // A service that another test brings along comes and goes.
            services = try await bus.scatter("$SRV.INFO", for: .seconds(2), atMost: 64)
                .map { try JSONDecoder().decode(Service.self, from: Data($0.body)) }
                .filter { BusPermissions.services.contains($0.name) }
            return services.count == BusPermissions.services.count
        }
        for service in services {
            let consumed = service.metadata?["consumes"]?.split(separator: ",").map(String.init) ?? []
            let rights = (BusPermissions.sources[service.name] ?? [:]).flatMap { feature, sources in
                sources.map { "\(feature):\($0)" }
            }
            #expect(Set(consumed) == Set(rights), "\(service.name)")
        }
        #expect(Set(services.map(\.name)) == Set(BusPermissions.services))
        await bus.close()
    }

    @Test func `what a service has the broker deliver to another is no request, and its own events are not lost`() async throws {
        // Its own: the deliveries of its media are stolen.
        let home = try await Installation()
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let chief = try await home.bus()
        let attacker = try await home.bus(as: "media")
        let before = try await requests("SpendToken", of: "billing", chief)
        let jetStream = JetStream(connection: chief)
        // Its pulls wait in the same queue as those of the real media, until each has had its turn.
        for round in 0..<40 {
            for source in ["AUTH", "SOCIAL"] {
                try attacker.publish(
                    "$JS.API.CONSUMER.MSG.NEXT.EVT_\(source).media-core",
                    body: Array(#"{"batch":1,"expires":20000000000}"#.utf8),
                    reply: "rpc.billing.v1.SpendToken"
                )
            }
            try await attacker.flush()
            let name = "Ada \(round)"
            _ = try await home.call("PUT", "/api/users/me", token: ada.token, json: #"{"display_name":"\#(name)"}"#)
        }
        // An event leaves after the reply.
        try await eventually("all are delivered") {
            try await jetStream.consumerInfo(stream: "EVT_AUTH", durable: "media-core").delivered >= 40
        }
        // Everything that was delivered to billing has been looked at by the time it answers.
        _ = try await ada.get("/api/recovery/balance")
        #expect(try await requests("SpendToken", of: "billing", chief) == before)
        // And media knows the last of the names all the same.
        try await eventually("media has consumed every event") {
            try await home.sql("SELECT display_name FROM media.profile_replica WHERE user_id = '\(ada.id)'") == "Ada 39"
        }
        _ = ben
        await attacker.close()
        await chief.close()
        await home.guardian.end()
    }
}
