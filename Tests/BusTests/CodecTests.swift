@testable import Bus
import Foundation
import Kernel
import Processes
import Testing

@Suite struct StatusCodecTests {
    private static let samples: [ServiceError] = [
        ServiceError(.notFound, "NOT_FOUND", "There is no such streak."),
        ServiceError(.unavailable, "UNAVAILABLE", "Später.", retryAfter: 90),
        ServiceError(
            .invalidArgument,
            "VALIDATION_ERROR",
            String(repeating: "long ", count: 200),
            details: [.init(field: "ids[2]", message: "ü"), .init(field: "", message: ""), .init(field: "b", message: "")]
        ),
        ServiceError(.unauthenticated, "", ""),
    ]

    @Test func `errors come back as they went`() {
        for error in Self.samples + ServiceError.Code.allCases.map({ ServiceError($0, "R", "m") }) {
            #expect(StatusCodec.decode(StatusCodec.encode(error)) == error)
        }
    }

    /// What `protoc` reads from our bytes, and makes of the same text, with the contract itself.
    @Test func `protoc agrees`() async throws {
        for error in Self.samples {
            let bytes = StatusCodec.encode(error)
            let text = try await protoc("--decode", input: bytes)
            #expect(try await protoc("--encode", input: text) == bytes)
            let lines = String(decoding: text, as: UTF8.self)
            #expect(lines.contains("code: \(error.code.rawValue)\n"))
            #expect(error.reason.isEmpty || lines.contains("reason: \"\(error.reason)\"\n"))
            #expect(lines.components(separatedBy: "details {").count == error.details.count + 1)
            #expect((error.retryAfter == nil) == !lines.contains("retry_after"))
        }
    }

    @Test func `hostile bytes are refused not trusted`() {
        let good = StatusCodec.encode(Self.samples[2])
        for length in 1..<good.count {
            // A prefix may end between two fields; it is then a smaller message, never more than what was written.
            if let part = StatusCodec.decode(Array(good[..<length])) { #expect(part.details.count <= 3) }
        }
        for bytes: [UInt8] in [
            [], [0], [8], [8, 99], [8, 0x80], [18, 5, 65], [18, 1, 0xFF], [10, 0], [16, 1], [34, 2, 8, 1], [7],
            [18, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], [8] + [UInt8](repeating: 0xFF, count: 11), [11, 12],
        ] { #expect(StatusCodec.decode(bytes) == nil, "\(bytes)") }
        #expect(StatusCodec.decode([8, 5, 0x82, 1, 1, 65, 0x98, 1, 7])?.code == .notFound, "unknown fields are skipped")
        var random = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<3 { bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random) }
            _ = StatusCodec.decode(bytes)
        }
    }

    @Test func `replies of other software still make sense`() {
        let headers: BusHeaders = ["Nats-Service-Error-Code": "404", "Nats-Service-Error": "no such thing"]
        let error = ServiceError(reply: BusMessage(subject: "", headers: headers, body: Array("text".utf8)))
        #expect(error == ServiceError(.notFound, "UNKNOWN", "no such thing"))
        #expect(ServiceError(reply: BusMessage(subject: "", headers: ["x": "y"])) == nil)
        #expect(ServiceError(reply: BusMessage(subject: "", headers: ["Nats-Service-Error-Code": "?"]))?.code == .unknown)
    }

    private func protoc(_ mode: String, input: [UInt8]) async throws -> [UInt8] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let result = try await run(
            "protoc",
            [
                "-I", root.appendingPathComponent("Proto").path, "\(mode)=streaksnap.common.v1.Status",
                "streaksnap/common/v1/common.proto",
            ],
            input: input
        )
        #expect(result.status == 0, "\(result.errors)")
        return result.output
    }
}

@Suite struct AcknowledgementTests {
    @Test func `what brokers write is read without a decoder`() {
        for text in [#"{"stream":"EVT_AUTH","seq":1234567}"#, #"{"stream":"EVT_AUTH", "seq":1234567}"#] {
            let ack = JetStreamCodec.plainAck(Array(text.utf8))
            #expect(ack == PublishAck(stream: "EVT_AUTH", sequence: 1_234_567, isDuplicate: false))
        }
    }

    @Test(arguments: [
        "", "{", "}", #"{"stream":"#, #"{"stream":"}"#, #"{"stream":"A","seq":"#, #"{"stream":"A","seq":}"#,
        #"{"stream":"A","seq":-1}"#,
        #"{"stream":"A","seq":1.5}"#, #"{"stream":"A","seq":1,"duplicate":true}"#, #"{"stream":"A\"","seq":1}"#,
        #"{"stream":"A","seq":1234567890123456789}"#, #"{"stream":"A""#, #"{"stream":"A"}"#, #"{"stream":"A"}"}"#,
        #"{"stream":"A"x"seq":1}"#, #"{"error":{"code":400},"stream":"A","seq":0}"#,
        #"{"stream":"A","seq":0,"error":{"code":400}}"#, #" {"stream":"A","seq":1}"#,
    ]) func `anything else is left to it`(text: String) {
        #expect(JetStreamCodec.plainAck(Array(text.utf8)) == nil)
        let bytes = Array(text.utf8)
        for length in bytes.indices { #expect(JetStreamCodec.plainAck(Array(bytes[..<length])) == nil) }
    }
}

@Suite struct TraceContextTests {
    @Test func `traceparents of the specification`() throws {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.description == text)
        #expect(context.traceID == "0af7651916cd43dd8448eb211c80319c" && context.spanID == "b7ad6b7169203331")
        #expect(context.isSampled)
        let child = context.child()
        #expect(child.traceID == context.traceID && child.spanID != context.spanID && child.flags == 1)
        #expect(TraceContext(traceparent: "cc" + text.dropFirst(2) + "-what-the-future-brings") != nil)
        for broken in [
            "", "00", String(text.dropLast()), text + "0", text + "-x", text.uppercased(), "ff" + text.dropFirst(2),
            "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            text.replacingOccurrences(of: "-", with: "_"), "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
        ] { #expect(TraceContext(traceparent: broken) == nil, "\(broken)") }
        #expect(TraceContext.random() != TraceContext.random())
    }

    @Test(arguments: [(0.0, 0...0), (0.25, 380...620), (1.0, 2_000...2_000)]) func `a ratio of traces is recorded`(
        ratio: Double,
        expected: ClosedRange<Int>
    ) {
        let recorded = (0..<2_000).filter { _ in TraceContext.random(recorded: ratio).isSampled }.count
        #expect(expected.contains(recorded), "\(recorded)")
    }
}

@Suite struct CallContextTests {
    @Test func `an unreadable principal is none`() {
        let id = "018f0000-0000-7000-8000-000000000001"
        for headers: BusHeaders in [
            [:], ["principal-user": id], ["principal-role": "root", "principal-user": id],
            ["principal-role": "user", "principal-user": "me"],
            ["principal-role": "user", "principal-user": id, "principal-session": "?"],
        ] { #expect(CallContext(CallFields(headers), timeout: .seconds(1)).principal == nil) }
        let user = CallContext(CallFields(["principal-role": "user", "principal-user": id]), timeout: .seconds(1))
        #expect(throws: Never.self) { try user.requireUser() }
        for role in [Principal.Role.guest, .service] {
            let context = CallContext(principal: Principal(userID: UserID(high: 1, low: 1), role: role))
            #expect(throws: ServiceError.self) { try context.requireUser() }
        }
        #expect(throws: ServiceError.self) { try CallContext().requireUser() }
    }

    @Test func `a context arrives as it was sent, as one header or as many`() {
        let user = UserID(high: 1, low: 1)
        var full = CallContext(
            requestID: "r-1",
            deadline: Instant(milliseconds: 1_900_000_000_000),
            principal: Principal(userID: user, role: .admin, sessionID: SessionID(high: 2, low: 2)),
            idempotencyKey: "k-1",
            clientAddress: IPAddress("2001:db8::1")
        )
        full.keyLifetime = .seconds(120)
        var bare = CallContext(requestID: "two words", deadline: Instant(milliseconds: 1), idempotencyKey: "-")
        bare.requestID = "two words"
        for context in [full, bare] {
            let fields = CallFields(context.headers)
            let single = CallFields(
                CallFields.Name.allCases.reduce(into: BusHeaders()) { headers, name in
                    if let value = fields[name] { headers.append(name.header, value) }
                }
            )
            for read in [fields, single] {
                let parent = read[.traceparent].flatMap { TraceContext(traceparent: $0) }
                let arrived = CallContext(read, timeout: .seconds(1), parent: parent)
                #expect(parent == context.trace)
                #expect(arrived.requestID == context.requestID && arrived.deadline == context.deadline)
                #expect(arrived.principal == context.principal && arrived.clientAddress == context.clientAddress)
                #expect(arrived.idempotencyKey == context.idempotencyKey && arrived.keyLifetime == context.keyLifetime)
            }
        }
        #expect(full.headers.fields.count == 1)
        #expect(CallFields(["call": "- r 5 user x y z 1 k of a later version"])[.idempotencyKey] == "k")
        #expect(CallFields(["call": ""])[.requestID] == nil)
    }

    @Test func `deadlines are bounded`() {
        for text in ["9223372036854775807", "-9223372036854775808", "99999999999999999999", "soon"] {
            let context = CallContext(CallFields(["deadline": text]), timeout: .seconds(5))
            #expect(context.deadline >= .epoch)
            #expect(Tick(deadline: context.deadline) > Tick(nanoseconds: 0))
        }
        #expect(CallContext(CallFields([:]), timeout: .seconds(500)).remaining > .seconds(400))
    }

    @Test func `a child keeps the request and never waits longer`() {
        let parent = CallContext(requestID: "r", deadline: SystemClock.now() + .seconds(3), idempotencyKey: "k")
        let child = parent.child(timeout: .seconds(60), principal: Principal(role: .service))
        #expect(child.deadline == parent.deadline)
        #expect(child.requestID == "r" && child.trace == parent.trace)
        #expect(child.idempotencyKey == nil && child.principal?.role == .service)
        #expect(parent.child(timeout: .seconds(1)).deadline < parent.deadline)
    }
}

@Suite struct DeliveryTests {
    @Test func `both forms of the reply subject`() {
        let short = Delivery("$JS.ACK.EVT.reader.3.17.9.1700000000123456789.42")
        #expect(short?.streamSequence == 17 && short?.consumerSequence == 9)
        #expect(short?.timestamp == Instant(microseconds: 1_700_000_000_123_456))
        #expect(Delivery("$JS.ACK.domain.hash.EVT.reader.3.17.9.1700000000123456789.42") == short)
        #expect(Delivery("$JS.ACK.domain.hash.EVT.reader.3.17.9.1700000000123456789.42.random") == short)
        for text in ["", "a.b", "_INBOX.a.1", "$JS.ACK.EVT.reader.3.17.9.x.42", "$JS.NAK.EVT.reader.3.17.9.17.42"] {
            #expect(Delivery(text) == nil)
        }
    }
}
