import Bus
import Foundation
import Kernel
import TestSupport
import Testing

extension BrokerTests {
    /// The replies against the rules of ADR-32 and its published schemas (`io.nats.micro.v1.*_response`).
    @Suite struct DiscoveryTests {
        @Test func `every subject is answered by every instance`() async throws {
            try await withBus { server, bus in
                let other = try await server.connect("second")
                let services = [try await startNotes(bus, endpoints), try await startNotes(other, endpoints)]
                for verb in ["PING", "INFO", "STATS"] {
                    for (subject, count) in [("", 2), (".notes", 2), (".notes.\(services[0].id)", 1), (".unknown", 0)] {
                        let replies = try await bus.scatter("$SRV.\(verb)\(subject)", for: .seconds(20), atMost: max(count, 1))
                        #expect(replies.count == count, "\(verb)\(subject)")
                        for reply in replies { try checkCommon(reply, verb, services) }
                    }
                }
                for service in services { await service.drain() }
                await other.close()
            }
        }

        @Test func `info lists the endpoints`() async throws {
            try await withBus { _, bus in
                let service = try await startNotes(bus, endpoints)
                let info = try object(try #require(try await bus.scatter("$SRV.INFO.notes", for: .seconds(20), atMost: 1).first))
                #expect(Set(info.keys) == ["type", "name", "id", "version", "metadata", "description", "endpoints"])
                #expect(info["description"] as? String == "Keeps notes.")
                let listed = try #require(info["endpoints"] as? [[String: Any]])
                #expect(listed.map { $0["name"] as? String } == ["Echo", "Change"])
                #expect(listed.map { $0["subject"] as? String } == ["rpc.notes.v1.Echo", "rpc.notes.v1.Change"])
                #expect(listed.allSatisfy { $0["queue_group"] as? String == "notes" })
                #expect(listed.map { $0["metadata"] as? [String: String] } == [["idempotent": "true"], ["idempotent": "false"]])
                await service.drain()
            }
        }

        @Test func `stats count requests and errors`() async throws {
            try await withBus { _, bus in
                let service = try await startNotes(bus, endpoints)
                let before = SystemClock.now()
                // Sent once each, however slow the answers are.
                let echo = Notes.method("Echo", isIdempotent: false)
                for _ in 0..<3 { _ = try await bus.call(echo, "x", context: CallContext()) }
                try await expectFailure(.notFound) { try await bus.call(Notes.change, "x", context: CallContext()) }
                var stats: [String: Any] = [:]
                var listed: [[String: Any]] = []
                try await eventually("all four are counted") {
                    stats = try object(
                        try #require(try await bus.scatter("$SRV.STATS.notes", for: .seconds(20), atMost: 1).first)
                    )
                    listed = stats["endpoints"] as? [[String: Any]] ?? []
                    return listed.compactMap { $0["num_requests"] as? Int }.reduce(0, +) == 4
                }
                #expect(Set(stats.keys) == ["type", "name", "id", "version", "metadata", "started", "endpoints"])
                let started = try #require((stats["started"] as? String).flatMap { Instant(rfc3339: $0) })
                #expect(started <= before && started > before - .minutes(1))
                #expect((stats["started"] as? String)?.hasSuffix("Z") == true)
                for endpoint in listed {
                    #expect(
                        Set(endpoint.keys) == [
                            "name", "subject", "queue_group", "num_requests", "num_errors", "last_error", "processing_time",
                            "average_processing_time",
                        ]
                    )
                    let requests = try #require(endpoint["num_requests"] as? Int)
                    let time = try #require(endpoint["processing_time"] as? Int)
                    #expect(endpoint["average_processing_time"] as? Int == time / requests)
                    #expect(time > 0)
                }
                #expect(listed.map { $0["num_requests"] as? Int } == [3, 1])
                #expect(listed.map { $0["num_errors"] as? Int } == [0, 1])
                #expect(listed.map { $0["last_error"] as? String } == ["", "404:NOT_FOUND"])
                await service.drain()
            }
        }

        private var endpoints: [Endpoint] {
            [
                Endpoint(Notes.echo) { note, _ in note },
                Endpoint(Notes.change) { _, _ in throw ServiceError.notFound("note") },
            ]
        }

        private func checkCommon(_ reply: BusMessage, _ verb: String, _ services: [BusService]) throws {
            let common = try object(reply)
            #expect(common["type"] as? String == "io.nats.micro.v1.\(verb.lowercased())_response")
            #expect(common["name"] as? String == "notes")
            #expect(services.map(\.id).contains(common["id"] as? String ?? ""))
            #expect(common["version"] as? String == "1.2.3")
            #expect(common["metadata"] as? [String: String] == ["descriptor": "abc"])
            if verb == "PING" { #expect(Set(common.keys) == ["type", "name", "id", "version", "metadata"]) }
        }

        private func object(_ message: BusMessage) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
        }
    }
}
