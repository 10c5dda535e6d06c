import Bus
import Foundation
import Kernel
import Logging
import TestSupport
import Testing

@testable import Runtime

@Suite("Spans", .timeLimit(.minutes(10)))
struct TracingTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func tracer(_ values: [String: String], metrics: Metrics = Metrics()) throws -> Tracer {
        try Tracer(
            Settings(values: values, declared: CommonSettings.process),
            service: "tested",
            logger: logger,
            metrics: metrics
        )
    }

    private func span(_ name: String, _ context: TraceContext = .random(recorded: 1)) -> Span {
        Span(context, parent: nil, name: name, kind: .server, duration: .milliseconds(5))
    }

    /// The spans in a request to a collector.
    private func spans(_ body: [UInt8]) throws -> [[String: Any]] {
        let json = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
        let resource = try #require((json["resourceSpans"] as? [[String: Any]])?.first)
        let scope = try #require((resource["scopeSpans"] as? [[String: Any]])?.first)
        return try #require(scope["spans"] as? [[String: Any]])
    }

    @Test func `wait in a bounded buffer, from which the oldest give way`() {
        var buffer = SpanBuffer(capacity: 100)
        for number in 0..<250 { buffer.append(span("\(number)")) }
        #expect(buffer.count == 100 && buffer.takeDropped() == 150 && buffer.takeDropped() == 0)
        let first = buffer.take(atMost: 30)
        #expect(first.map(\.name) == (150..<180).map { "\($0)" })
        for number in 250..<265 { buffer.append(span("\(number)")) }
        buffer.putBack(first)
        #expect(buffer.count == 100 && buffer.takeDropped() == 15, "what is put back is the oldest")
        #expect(buffer.take(atMost: 1_000).map(\.name) == (165..<265).map { "\($0)" })
        #expect(buffer.count == 0 && buffer.take(atMost: 1).isEmpty)
    }

    @Test func `are OTLP's JSON: ids in hex, times in nanoseconds, what went wrong`() throws {
        let parent = TraceContext.random(recorded: 1)
        var span = Span(
            parent.child(),
            parent: parent,
            name: "GET \"x\"\n",
            kind: .client,
            duration: .milliseconds(1_500),
            attributes: [("a", .text("ä\\")), ("n", .number(-3))],
            failure: "internal"
        )
        span.start = Instant(microseconds: 1_700_000_000_000_001)
        let bytes = OTLPEncoder(resource: [("service.name", "s\"")]).encode([span, self.span("second")])
        let all = try spans(bytes)
        #expect(all.count == 2 && all[1]["parentSpanId"] == nil && all[1]["status"] == nil)
        #expect(all[0]["traceId"] as? String == parent.traceID && all[0]["parentSpanId"] as? String == parent.spanID)
        #expect(all[0]["spanId"] as? String == span.context.spanID && all[0]["kind"] as? Int == 3)
        #expect(all[0]["name"] as? String == "GET \"x\"\n" && all[0]["flags"] as? Int == 1)
        #expect(all[0]["startTimeUnixNano"] as? String == "1700000000000001000")
        #expect(all[0]["endTimeUnixNano"] as? String == "1700000001500001000")
        let attributes = try #require(all[0]["attributes"] as? [[String: Any]])
        #expect((attributes[0]["value"] as? [String: String]) == ["stringValue": "ä\\"])
        #expect((attributes[1]["value"] as? [String: String]) == ["intValue": "-3"])
        #expect((all[0]["status"] as? [String: Any])?["code"] as? Int == 2)
    }

    @Test func `reach the collector with what the process is, and are counted; those of unrecorded traces do not`() async throws {
        let collector = try TestCollector()
        let metrics = Metrics()
        let tracer = try tracer(["otlp.endpoint": collector.endpoint + "/prefix/"], metrics: metrics)
        let running = Task { await tracer.run() }
        let recorded = tracer.root()
        #expect(recorded.isSampled)
        tracer.record(recorded) { span("wanted", recorded) }
        let unrecorded = TraceContext.random()
        tracer.record(unrecorded) { span("unwanted", unrecorded) }
        try await eventually("the collector has it") { !collector.requests.isEmpty }
        // What is left goes out at the end.
        tracer.record(recorded) { span("last", recorded) }
        running.cancel()
        await running.value
        let names = try collector.requests.flatMap { try spans($0.body) }.compactMap { $0["name"] as? String }
        #expect(names == ["wanted", "last"])
        let request = try #require(collector.requests.first)
        #expect(request.head.hasPrefix("POST /prefix/v1/traces HTTP/1.1\r\n"))
        #expect(request.head.lowercased().contains("content-type: application/json"))
        let text = String(decoding: request.body, as: UTF8.self)
        for name in ["service.name", "service.version", "service.instance.id"] { #expect(text.contains("\"\(name)\"")) }
        #expect(text.contains("{\"stringValue\":\"tested\"}"))
        #expect(metrics.counter("streaksnap_spans_exported_total", help: "").current == 2)
        collector.stop()
    }

    @Test func `are kept for a collector that is away or busy, and given up when it refuses them`() async throws {
        let collector = try TestCollector(.answers(503))
        let metrics = Metrics()
        let tracer = try tracer(["otlp.endpoint": collector.endpoint], metrics: metrics)
        let running = Task { await tracer.run() }
        let root = tracer.root()
        tracer.record(root) { span("kept", root) }
        try await eventually("it was tried") { !collector.requests.isEmpty }
        collector.behave(.answers(200))
        let exported = metrics.counter("streaksnap_spans_exported_total", help: "")
        try await eventually("it was taken in the end") { exported.current == 1 }
        collector.behave(.answers(400))
        tracer.record(root) { span("refused", root) }
        let refused = metrics.counter("streaksnap_spans_dropped_total", [("reason", "refused")], help: "")
        try await eventually("it is given up") { refused.current == 1 }
        running.cancel()
        await running.value
        collector.stop()
    }

    @Test func `never hold up the recorder, and their end is bounded when the collector does not answer`() async throws {
        let collector = try TestCollector(.silent)
        let metrics = Metrics()
        let tracer = try tracer(["otlp.endpoint": collector.endpoint], metrics: metrics)
        let running = Task { await tracer.run() }
        let root = tracer.root()
        let start = ContinuousClock.now
        for number in 0..<(Tracer.capacity * 3) { tracer.record(root) { span("\(number)", root) } }
        // A request to this collector is given up after 5 s.
        #expect(ContinuousClock.now - start < .milliseconds(4_500))
        try await eventually("it is asked") { !collector.requests.isEmpty }
        running.cancel()
        await running.value
        #expect(ContinuousClock.now - start < .seconds(90))
        let dropped = metrics.counter("streaksnap_spans_dropped_total", [("reason", "overflow")], help: "")
        #expect(dropped.current >= Tracer.capacity)
        collector.stop()
    }

    @Test func `of an unusable collector or ratio are refused by name; without a collector nothing is recorded`() throws {
        for endpoint in [
            "https://x:4318", "x:4318", "http://", "http://x:0", "http://x:70000", "http://x y", "http://u@x", "http://x/?a",
        ] {
            let error = #expect(throws: Settings.Invalid.self) { try tracer(["otlp.endpoint": endpoint]) }
            #expect(error?.description.contains("--otlp-endpoint") == true)
        }
        for ratio in ["-0.1", "1.1"] {
            let error = #expect(throws: Settings.Invalid.self) { try tracer(["trace.sample-ratio": ratio]) }
            #expect(error?.description.contains("--trace-sample-ratio") == true)
        }
        #expect(try !tracer([:]).root().isSampled)
        #expect(try !tracer(["otlp.endpoint": "http://[::1]", "trace.sample-ratio": "0"]).root().isSampled)
        #expect(Collector(endpoint: "http://[::1]").map { [$0.host, "\($0.port)", $0.path] } == ["::1", "4318", "/v1/traces"])
        #expect(Collector(endpoint: "http://c:80/").map { [$0.host, "\($0.port)", $0.path] } == ["c", "80", "/v1/traces"])
    }
}
