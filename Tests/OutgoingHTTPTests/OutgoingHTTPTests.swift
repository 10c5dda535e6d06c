import HTTPServer
import Kernel
import NIOCore
import Synchronization
import Testing

@testable import OutgoingHTTP

/// A body of many bytes that is never in memory.
private struct Pattern: OutgoingBody {
    let size: Int64
    /// From where on it cannot be read.
    var breaksAt = Int64.max

    static func byte(at offset: Int64) -> UInt8 { UInt8(truncatingIfNeeded: offset &* 31 ^ offset >> 9) }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard offset < breaksAt else { return nil }
        let count = min(buffer.count, Int(size - offset), 5_000)
        for index in 0..<count { buffer[index] = Self.byte(at: offset + Int64(index)) }
        return count
    }
}

/// Requests to /held are answered once it is open.
private final class Gate: Sendable {
    private let isOpen = Atomic(false)
    func open() { isOpen.store(true, ordering: .relaxed) }
    func wait() async throws { while !isOpen.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) } }
}

private let gate = Gate()

/// A server on this machine for all tests. It ends with the process.
private let server = Task {
    try await HTTPServer.start(host: "127.0.0.1", port: 0) { request in
        switch (request.method, request.path) {
        case (.GET, "/peer"): return HTTPResponse(.ok, [:], "\(request.remoteAddress?.port ?? 0)")
        case (.PUT, "/echo"), (.POST, "/echo"):
            return HTTPResponse(.created, [:], .bytes(try await request.body.collect(upTo: 1 << 22)))
        case (.GET, "/hello"):
            let agent = request.headers[field: "User-Agent"] ?? "unknown"
            return HTTPResponse(.ok, ["Content-Type": "text/plain", "Server": agent], "hello")
        case (.GET, "/away"): return HTTPResponse(.found, ["Location": "https://example.com/"])
        case (.GET, "/slow"):
            try await Task.sleep(for: .seconds(20))
            return HTTPResponse(.ok, [:], "late")
        case (.GET, "/held"):
            try await gate.wait()
            return HTTPResponse(.ok, [:], "held")
        case (.GET, "/long"): return HTTPResponse(.ok, [:], String(repeating: "x", count: 10_000))
        default: return HTTPResponse(.notFound)
        }
    }
}

nonisolated(nonsending) private func withServer(_ body: (String) async throws -> Void) async throws {
    try await body("http://127.0.0.1:\(server.value.port)")
}

@Suite("Outgoing HTTP", .timeLimit(.minutes(10)))
struct OutgoingHTTPTests {
    private let http = OutgoingHTTP()

    private func failure(_ request: OutgoingHTTP.Request) async -> OutgoingHTTP.Failure? {
        await #expect(throws: OutgoingHTTP.Failure.self) { _ = try await http.send(request) }
    }

    @Test func `gives status, headers and body, whatever the status`() async throws {
        try await withServer { base in
            let reply = try await http.send(.init("GET", base + "/hello", headers: [("User-Agent", "me")]))
            #expect(reply.status == 200 && reply.body == Array("hello".utf8))
            #expect(reply.header("Content-Type") == "text/plain" && reply.header("server") == "me")
            #expect(try await http.send(.init("GET", base + "/nothing")).status == 404)
        }
    }

    @Test(arguments: [0, 5, 2_000_000]) func `sends bodies of any bytes, an empty and a large one`(size: Int) async throws {
        try await withServer { base in
            let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let reply = try await http.send(.init("POST", base + "/echo", body: body, mostBytes: 1 << 22))
            #expect(reply.status == 201 && reply.body == body)
        }
    }

    @Test(arguments: [0, 1, 4_999, 3_000_000]) func `sends a body that is read while it is sent`(size: Int) async throws {
        try await withServer { base in
            let source = Pattern(size: Int64(size))
            let reply = try await http.send(.init("PUT", base + "/echo", source: source, mostBytes: 1 << 22))
            let isSame = reply.body.indices.allSatisfy { reply.body[$0] == Pattern.byte(at: Int64($0)) }
            #expect(reply.status == 201 && reply.body.count == size && isSame)
        }
    }

    @Test func `breaks off when the body cannot be read`() async throws {
        try await withServer { base in
            let source = Pattern(size: 1_000_000, breaksAt: 500_000)
            guard case .unreachable = await failure(.init("PUT", base + "/echo", source: source)) else {
                Issue.record("something else")
                return
            }
        }
    }

    @Test func `keeps connections when it is asked to, and none otherwise`() async throws {
        try await withServer { base in
            func peers(_ http: OutgoingHTTP) async throws -> Set<[UInt8]> {
                var peers: Set<[UInt8]> = []
                for _ in 0..<4 {
                    peers.insert(try await http.send(.init("GET", base + "/peer")).body)
                    // Settings of one exchange do not stay for the next.
                    let echoed = try await http.send(
                        .init("PUT", base + "/echo", headers: [("A", "b")], source: Pattern(size: 10))
                    )
                    #expect(echoed.body.count == 10)
                }
                return peers
            }
            let (kept, fresh) = (
                try await peers(OutgoingHTTP(threads: 1, keepsConnections: true)), try await peers(OutgoingHTTP(threads: 1))
            )
            #expect(kept.count == 1 && fresh.count == 4)
        }
    }

    @Test func `uses plain HTTP only to hosts that the operator named so`() async {
        let plain = OutgoingHTTP(allowsPlain: true)
        for (url, isAllowed) in [
            ("http://no-such-host.invalid/", true), ("ftp://no-such-host.invalid/", false), ("file:///etc/passwd", false),
        ] {
            let failure = await #expect(throws: OutgoingHTTP.Failure.self) { _ = try await plain.send(.init("GET", url)) }
            #expect((failure != .notAllowed) == isAllowed, "\(url)")
        }
    }

    @Test func `does not follow redirects`() async throws {
        try await withServer { base in
            let reply = try await http.send(.init("GET", base + "/away"))
            #expect(reply.status == 302 && reply.header("location") == "https://example.com/")
        }
    }

    @Test func `gives up when the time is over, and beyond the size`() async throws {
        try await withServer { base in
            let start = ContinuousClock.now
            #expect(await failure(.init("GET", base + "/slow", timeout: .milliseconds(300))) == .timedOut)
            #expect(ContinuousClock.now - start < .seconds(15))
            #expect(await failure(.init("GET", base + "/long", mostBytes: 9_999)) == .tooLarge)
            let whole = try await http.send(.init("GET", base + "/long", mostBytes: 10_000))
            #expect(whole.body.count == 10_000)
        }
    }

    @Test(arguments: [
        "http://example.com/", "http://10.0.0.1/", "http://127.0.0.1.example.com/", "ftp://127.0.0.1/", "file:///etc/passwd",
        "http://localhost@example.com/", "gopher://localhost/", "", "no url", "https:///", "http://[::2]/",
    ]) func `uses plain HTTP only to this machine`(url: String) async {
        #expect(await failure(.init("GET", url)) == .notAllowed)
    }

    @Test func `refuses headers that would become others`() async {
        let request = { OutgoingHTTP.Request("GET", "http://127.0.0.1:1/", headers: [$0]) }
        for header in [("A\r\nB", "c"), ("A", "b\r\nC: d"), ("", "a"), ("A:", "b"), ("A", "b\0")] {
            #expect(await failure(request(header)) == .malformed)
        }
        #expect(await failure(.init("get /", "http://127.0.0.1:1/")) == .malformed)
    }

    @Test func `says that there is no server`() async {
        guard case .notConnected = await failure(.init("GET", "http://127.0.0.1:1/")) else {
            Issue.record("something else")
            return
        }
    }

    @Test func `refuses at once what would wait too long`() async throws {
        try await withServer { base in
            let narrow = OutgoingHTTP(threads: 1, queueLimit: 1)
            let reasons = await withTaskGroup(of: String?.self) { tasks in
                for _ in 0..<6 {
                    tasks.addTask {
                        do {
                            _ = try await narrow.send(.init("GET", base + "/held", timeout: .seconds(60)))
                            return nil
                        } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
                    }
                }
                var reasons: [String?] = []
                for await reason in tasks {
                    reasons.append(reason)
                    // One is under way and one waits, until then.
                    if reasons.count == 4 { gate.open() }
                }
                return reasons
            }
            #expect(reasons == Array(repeating: "UNAVAILABLE", count: 4) + [nil, nil])
        }
    }
}
