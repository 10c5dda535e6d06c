import Bus
import Foundation
import Kernel
import TestSupport
import Testing

/// What an operator sees.
struct OperationTests {
    private static let services: Set<String> = ["auth", "social", "streaks", "media", "notifications", "billing"]

    /// The routes of the seven services that clients rely on.
    private static let routes: [(String, String)] = [
        ("post", "/api/auth/register"), ("post", "/api/auth/login"), ("post", "/api/auth/refresh"), ("post", "/auth/refresh"),
        ("post", "/api/auth/logout"), ("get", "/api/users/me"), ("get", "/api/users/me/profile"),
        ("post", "/api/users/me/terms"), ("get", "/.well-known/jwks.json"),
        ("post", "/api/friends/request"), ("put", "/api/friends/{friendship_id}/respond"), ("get", "/api/friends"),
        ("get", "/api/friends/requests"), ("get", "/api/streaks"), ("get", "/api/streaks/active"),
        ("get", "/api/streaks/{streak_id}"), ("post", "/api/streaks"), ("post", "/api/streaks/{streak_id}/recover"),
        ("get", "/api/streaks/{streak_id}"), ("get", "/api/streaks/{streak_id}/calendar"),
        ("get", "/api/streaks/{streak_id}/milestone-data"), ("get", "/api/users/me/achievements"),
        ("get", "/api/users/me/stats"), ("get", "/api/users/me/calendar"),
        ("get", "/api/prompts/today"), ("post", "/api/photos/upload"), ("post", "/api/streaks/snap"), ("get", "/api/photos/feed"),
        ("get", "/api/streaks/feed"), ("get", "/api/notifications"), ("get", "/api/notifications/unread-count"),
        ("get", "/api/billing/entitlements"), ("get", "/api/recovery/balance"),
    ]

    private func ask(_ verb: String) async throws -> [JSON] {
        let bus = try await Installation.shared.value.bus()
        let replies = try await bus.scatter("$SRV.\(verb)", body: [], for: .milliseconds(700), atMost: 100)
        await bus.close()
        return try replies.map { try JSON($0.body) }.filter { Self.services.contains($0["name"].string ?? "") }
    }

    private func hasCommonFields(_ reply: JSON, type: String) {
        #expect(reply["type"].string == "io.nats.micro.v1.\(type)_response")
        #expect(reply["name"].string?.wholeMatch(of: /[a-zA-Z0-9_-]+/) != nil)
        #expect(reply["id"].string?.isEmpty == false)
        #expect(
            reply["version"].string?.wholeMatch(
                of: /(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?/
            ) != nil
        )
        guard case .object(let metadata) = reply["metadata"] else {
            Issue.record("metadata is no object")
            return
        }
        #expect(metadata.values.allSatisfy { $0.string != nil })
    }

    private func isWhole(_ number: JSON) -> Bool { (number.int ?? -1) >= 0 }

    @Test(arguments: ["PING", "INFO", "STATS"]) func `every service answers the services protocol as ADR-32 says`(verb: String)
        async throws
    {
        let replies = try await ask(verb)
        #expect(Set(replies.compactMap { $0["name"].string }) == Self.services)
        #expect(Set(replies.compactMap { $0["id"].string }).count == replies.count)
        for reply in replies {
            hasCommonFields(reply, type: verb.lowercased())
            switch verb {
            case "PING": #expect(reply.names == ["type", "name", "id", "version", "metadata"])
            case "INFO": checkInfo(reply)
            default: checkStats(reply)
            }
        }
    }

    private func checkInfo(_ reply: JSON) {
        #expect(reply.names == ["type", "name", "id", "version", "metadata", "description", "endpoints"])
        #expect(reply["description"].string?.isEmpty == false)
        #expect(reply["metadata"]["descriptor"].string?.count == 64)
        #expect(!reply["endpoints"].list.isEmpty)
        for endpoint in reply["endpoints"].list {
            #expect(endpoint.names == ["name", "subject", "queue_group", "metadata"])
            #expect(endpoint["name"].string?.wholeMatch(of: /[a-zA-Z0-9_-]+/) != nil)
            #expect(endpoint["subject"].string?.hasPrefix("rpc.\(reply["name"].string ?? "?").v1.") == true)
            #expect(endpoint["queue_group"].string == reply["name"].string)
        }
    }

    private func checkStats(_ reply: JSON) {
        #expect(reply.names == ["type", "name", "id", "version", "metadata", "started", "endpoints"])
        #expect(reply["started"].string?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) != nil)
        for endpoint in reply["endpoints"].list {
            #expect(
                endpoint.names == [
                    "name", "subject", "queue_group", "num_requests", "num_errors", "last_error", "processing_time",
                    "average_processing_time",
                ]
            )
            #expect(endpoint["last_error"].string != nil)
            for name in ["num_requests", "num_errors", "processing_time", "average_processing_time"] {
                #expect(isWhole(endpoint[name]), "\(name)")
            }
        }
    }

    @Test func `one service and one instance can be asked alone`() async throws {
        let bus = try await Installation.shared.value.bus()
        let named = try await bus.scatter("$SRV.INFO.media", body: [], for: .milliseconds(500), atMost: 10)
        #expect(named.count == 1)
        let id = try #require(try named.first.map { try JSON($0.body)["id"].string } ?? nil)
        let one = try await bus.request("$SRV.PING.media.\(id)", body: [], deadline: SystemClock.now() + .seconds(5))
        #expect(try JSON(one.body)["id"].string == id)
        await bus.close()
    }

    @Test func `the description of the API lists every route`() async throws {
        let home = try await Installation.shared.value
        let reply = try await home.call("GET", "/openapi.json")
        #expect(reply.status == 200)
        #expect(reply.header("Content-Type")?.hasPrefix("application/json") == true)
        #expect(reply.json["openapi"].string?.hasPrefix("3.1") == true)
        for (verb, path) in Self.routes {
            let operation = reply.json["paths"][path][verb]
            #expect(!operation["responses"].names.isEmpty, "\(verb) \(path)")
        }
        let page = try await home.call("GET", "/docs")
        #expect(page.status == 200)
        #expect(page.header("Content-Type")?.hasPrefix("text/html") == true)
        // It shows them by its script: `PageTests` reads it in a browser.
        #expect(page.text.contains("src=\"/pages/docs.js\""))
    }

    @Test func `health is reported without an envelope`() async throws {
        let home = try await Installation.shared.value
        let health = try await home.call("GET", "/api/health")
        #expect(health.status == 200)
        #expect(health.json.names == ["status", "db", "unavailable", "version", "zone_data", "timestamp"])
        #expect(health.json["unavailable"].list.isEmpty)
        #expect(health.json["status"].string == "ok")
        #expect(health.json["db"].bool == true)
        // The version of the folder that the settings name by default.
        let first = try String(contentsOfFile: "/usr/share/zoneinfo/tzdata.zi", encoding: .utf8).prefix { $0 != "\n" }
        #expect(health.json["zone_data"].string.map { "# version \($0)" } == String(first))
        #expect(try await home.call("GET", "/healthz").status == 200)
        #expect(try await home.call("GET", "/readyz").status == 200)
    }

    @Test func `another replica joins, and serves its metrics on its admin port`() async throws {
        let home = try await Installation.shared.value
        let admin = try Installation.freePorts(1)[0]
        let folder = FileManager.default.temporaryDirectory.appending(path: "streaksnap-e2e-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let replica = try await Guardian(
            [Installation.binaries.appending(path: "billing").path],
            environment: [
                "STREAKSNAP_NATS_URL": "nats://127.0.0.1:\(home.natsPort)",
                "STREAKSNAP_NATS_PASSWORD_FILE": home.data.appending(path: "secrets/nats-billing").path,
                "STREAKSNAP_DATABASE_URL":
                    "postgresql://billing:\(try home.secret("postgres-billing"))@127.0.0.1:\(home.postgresPort)/streaksnap",
                "STREAKSNAP_ADMIN_PORT": "\(admin)",
            ],
            folder: folder
        )
        let client = HTTPClient(port: admin)
        let person = try await Person.register("mia", at: home)
        try await eventually("the replica is ready and answers its share") {
            guard replica.isRunning else { throw Guardian.Failure(description: try replica.output()) }
            guard try await person.get("/api/recovery/balance").status == 200,
                let reply = try? await client.send("GET", "/metrics")
            else { return false }
            return reply.text.contains("GetRecoveryBalance")
        }
        #expect(try await client.send("GET", "/readyz").status == 200)
        let metrics = try await client.send("GET", "/metrics")
        #expect(metrics.header("Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true)
        for line in metrics.text.split(separator: "\n") where !line.hasPrefix("#") {
            #expect(line.wholeMatch(of: /[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? (NaN|[+-]?Inf|[-+0-9.eE]+)/) != nil, "\(line)")
        }
        await replica.end()
        #expect(try await person.get("/api/recovery/balance").status == 200, "its end loses nothing")
    }
}
