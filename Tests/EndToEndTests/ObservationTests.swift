import Foundation
import TestSupport
import Testing

extension Installation {
    /// One that is looked at from outside: everything is logged, spans are collected, and it has an admin port.
    static let observed = Task {
        try await Installation([
            "--log-level", "trace", "--admin-port", "\(observedPort.get())", "--otlp-endpoint", try observedSpans.get().endpoint,
        ])
    }
    static let observedPort = Result { try freePorts(1)[0] }
    static let observedSpans = Result { try TestCollector() }
}

/// What an operator sees of `streaksnap up` (D11).
struct ObservationTests {
    /// A span as the collector got it.
    private struct Observed {
        let trace: String
        let id: String
        let parent: String?
        let name: String
        let kind: Int
        let service: String
        let status: Int?
    }

    private func spans(of trace: String) throws -> [Observed] {
        try Installation.observedSpans.get().requests.flatMap { request -> [Observed] in
            let resource = try JSON(request.body)["resourceSpans"][0]
            let service = resource["resource"]["attributes"].list.first { $0["key"].string == "service.name" }?["value"]
            return resource["scopeSpans"][0]["spans"].list.map { span in
                Observed(
                    trace: span["traceId"].string ?? "",
                    id: span["spanId"].string ?? "",
                    parent: span["parentSpanId"].string,
                    name: span["name"].string ?? "",
                    kind: span["kind"].int ?? 0,
                    service: service?["stringValue"].string ?? "",
                    status: span["status"]["code"].int
                )
            }
        }.filter { $0.trace == trace }
    }

    private static func newTrace() -> String {
        UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
    }

    @Test func `one request is one tree of spans, from HTTP through the bus to the last service`() async throws {
        let home = try await Installation.observed.value
        let (ann, bob) = (try await Person.register("ann", at: home), try await Person.register("bob", at: home))
        try await ann.befriend(bob)
        let trace = Self.newTrace()
        let client = "00f067aa0ba902b7"
        let reply = try await home.call(
            "GET",
            "/api/friends",
            token: ann.token,
            headers: [("traceparent", "00-\(trace)-\(client)-01")]
        )
        #expect(reply.status == 200 && reply.data["friends"].list.count == 1)
        // Who is asked ends first, and each process sends for itself: six spans make the tree.
        try await eventually("all spans have come") { try spans(of: trace).contains { $0.service == "gateway" && $0.kind == 2 } }
        try await eventually("the spans of all have come") { Set(try spans(of: trace).map(\.service)).count >= 3 }
        let all = try spans(of: trace)
        func only(_ service: String, _ kind: Int, _ name: String) throws -> Observed {
            let found = all.filter { $0.service == service && $0.kind == kind && $0.name == name }
            #expect(found.count == 1, "\(all.map { "\($0.service) \($0.kind) \($0.name)" })")
            return try #require(found.first)
        }
        let http = try only("gateway", 2, "GET /api/friends")
        let asking = try only("gateway", 3, "social.v1/ListFriends")
        let answering = try only("social", 2, "social.v1/ListFriends")
        let further = try only("social", 3, "streaks.v1/GetFriendSummaries")
        let last = try only("streaks", 2, "streaks.v1/GetFriendSummaries")
        #expect(http.parent == client)
        #expect(asking.parent == http.id)
        #expect(answering.parent == asking.id)
        #expect(further.parent == answering.id)
        #expect(last.parent == further.id)
        #expect(Set(all.map(\.id)).count == all.count)
        let known = Set(all.map(\.id) + [client])
        #expect(all.allSatisfy { $0.parent.map(known.contains) ?? false }, "no span hangs in the air")
        #expect(all.allSatisfy { $0.status == nil })
    }

    @Test func `a trace that the client does not record is not recorded here, and one that begins here is`() async throws {
        let home = try await Installation.observed.value
        let quiet = Self.newTrace()
        let header = [("traceparent", "00-\(quiet)-00f067aa0ba902b7-00")]
        #expect(try await home.call("GET", "/.well-known/jwks.json", headers: header).status == 200)
        let name = "begins-here-\(UUID().uuidString)"
        #expect(try await home.call("GET", "/.well-known/jwks.json", headers: [("X-Request-Id", name)]).status == 200)
        func collected() throws -> String {
            try Installation.observedSpans.get().requests.map { String(decoding: $0.body, as: UTF8.self) }.joined()
        }
        // The later of the two has come, with its three spans: so would the earlier.
        try await eventually("the later one has come") { try collected().components(separatedBy: name).count > 3 }
        #expect(try !collected().contains(quiet))
    }

    @Test func `the admin port serves the metrics of every service in the process`() async throws {
        let home = try await Installation.observed.value
        let person = try await Person.register("cal", at: home)
        try await person.befriend(try await Person.register("dot", at: home))
        for path in ["/api/users/me", "/api/streaks", "/api/friends", "/api/notifications", "/api/photos/feed"] {
            #expect(try await person.get(path).status == 200)
        }
        #expect(try await home.call("GET", "/api/users/me", token: "nonsense").status == 401)
        let admin = HTTPClient(port: try Installation.observedPort.get())
        #expect(try await admin.send("GET", "/healthz").status == 200)
        try await eventually("it is ready") { try await admin.send("GET", "/readyz").status == 200 }
        // How late a job is is looked at every few seconds.
        try await eventually("every series is there") {
            let page = try await admin.send("GET", "/metrics").text
            return page.contains("job=\"unfinished_snaps\"")
                && page.contains(/streaksnap_spans_exported_total\{service="gateway"\} [1-9]/)
        }
        let page = try await admin.send("GET", "/metrics")
        #expect(page.header("Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true)
        let samples = try await PrometheusParser.parse(page.text)
        func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
            samples.first { sample in
                sample.name == "streaksnap_\(name)" && labels.allSatisfy { sample.labels[$0.key] == $0.value }
            }?.value
        }
        #expect(value("gateway_checks_descriptors") == 1 && value("gateway_refused_replicas") == 0)
        #expect(value("gateway_refused_routes") == 0)
        for service in ["auth", "social", "streaks", "media", "notifications", "billing"] {
            #expect(value("database_connections", ["service": service]) == 7, "\(service)")
            for name in ["database_connections_busy", "database_waiting", "database_connections_lost_total"] {
                #expect(value(name, ["service": service]) != nil, "\(service) \(name)")
            }
            #expect((value("database_statement_duration_seconds_count", ["service": service, "kind": "statement"]) ?? 0) > 0)
        }
        let me = ["method": "rpc.auth.v1.GetMe", "code": "ok"]
        #expect((value("rpc_total", me.merging(["role": "server", "service": "auth"]) { $1 }) ?? 0) > 0)
        #expect((value("rpc_total", me.merging(["role": "client", "service": "gateway"]) { $1 }) ?? 0) > 0)
        #expect(value("rpc_in_flight", ["method": "rpc.auth.v1.GetMe", "role": "server"]) == 0)
        #expect((value("rpc_duration_seconds_count", ["role": "client", "service": "social"]) ?? 0) > 0)
        #expect((value("http_requests_total", ["route": "/api/users/me", "status": "401"]) ?? 0) > 0)
        #expect(value("http_refused_total") == 0 && value("http_in_flight") != nil)
        for job in ["settlement", "unfinished_snaps"] { #expect((value("job_lag_seconds", ["job": job]) ?? -1) >= 0, "\(job)") }
        #expect((value("job_last_success_timestamp_seconds", ["job": "settlement"]) ?? 0) > 1_700_000_000)
        #expect((value("spans_exported_total", ["service": "gateway"]) ?? 0) > 0)
        for name in ["ready", "build_info"] { #expect(value(name, ["service": "streaksnap"]) == 1, "\(name)") }
        #expect(samples.contains { $0.name == "process_resident_memory_bytes" && $0.value > 1e7 })
        #expect(samples.allSatisfy { $0.name.hasPrefix("streaksnap_") || $0.name.hasPrefix("process_") })
    }
}
