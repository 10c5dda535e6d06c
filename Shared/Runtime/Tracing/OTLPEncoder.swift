internal import Kernel

/// Spans as an `ExportTraceServiceRequest` in OTLP's JSON: ids in hex, 64-bit numbers as strings.
struct OTLPEncoder: Sendable {
    /// What every span shares: `service.name` and its like.
    let resource: [(name: String, value: String)]

    func encode(_ spans: [Span]) -> [UInt8] {
        var text = "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
        text += resource.map { Self.attribute($0.name, .text($0.value)) }.joined(separator: ",")
        text +=
            "]},\"scopeSpans\":[{\"scope\":{\"name\":\"streaksnap\",\"version\":\(JSONLogHandler.quoted(BuildInfo.version))},\"spans\":["
        for (index, span) in spans.enumerated() {
            if index > 0 { text += "," }
            Self.append(span, to: &text)
        }
        return Array((text + "]}]}]}").utf8)
    }

    private static func append(_ span: Span, to text: inout String) {
        let start = span.start.microseconds * 1_000
        text += "{\"traceId\":\"\(span.context.traceID)\",\"spanId\":\"\(span.context.spanID)\","
        if let parent = span.parent { text += "\"parentSpanId\":\"\(parent.spanID)\"," }
        text += "\"flags\":\(span.context.flags),\"name\":\(JSONLogHandler.quoted(span.name)),\"kind\":\(span.kind.rawValue),"
        text += "\"startTimeUnixNano\":\"\(start)\",\"endTimeUnixNano\":\"\(start + Int64(span.duration / .nanoseconds(1)))\","
        text += "\"attributes\":[" + span.attributes.map { attribute($0.name, $0.value) }.joined(separator: ",") + "]"
        if let failure = span.failure {
            text += ",\"status\":{\"code\":2,\"message\":\(JSONLogHandler.quoted(failure))}"
        }
        text += "}"
    }

    private static func attribute(_ name: String, _ value: Span.Attribute) -> String {
        switch value {
        case .text(let text):
            "{\"key\":\(JSONLogHandler.quoted(name)),\"value\":{\"stringValue\":\(JSONLogHandler.quoted(text))}}"
        case .number(let number): "{\"key\":\(JSONLogHandler.quoted(name)),\"value\":{\"intValue\":\"\(number)\"}}"
        }
    }
}
