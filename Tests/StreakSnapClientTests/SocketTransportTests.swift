import Foundation
import StreakSnapClient
import Synchronization
import TestSupport
import Testing

@testable import StreakSnapTesting

/// Against a server that says, byte by byte, what each test wants.
@Suite(.timeLimit(.minutes(5))) struct SocketTransportTests {
    private let ok = "HTTP/1.1 200 OK\r\n"

    /// A request whose server may be silent for so long.
    private func request(_ server: RawServer, _ verb: String = "GET", silence: Duration = .seconds(60)) throws -> TransportRequest
    {
        TransportRequest(
            url: try #require(URL(string: "http://127.0.0.1:\(server.port)/a%20b/c?d=e%26f")),
            verb: verb,
            headers: ["X-Test": "yes"],
            silence: silence
        )
    }

    /// What kind of failure a reply is, after which the server ends the connection.
    private func failure(of reply: String) async throws -> StreakSnapError.Kind? {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.send(reply)
        }
        let request = try request(server)
        let error = await #expect(throws: StreakSnapError.self, "\(reply)") { try await SocketTransport().send(request) }
        return error?.kind
    }

    @Test(arguments: ["ok, all of it", ""])
    func `a reply is the same in one piece and byte by byte, whatever says where it ends`(body: String) async throws {
        let half = body.count / 2
        let chunks = [String(body.prefix(half)), String(body.dropFirst(half))].filter { !$0.isEmpty }
            .map { "\(String($0.utf8.count, radix: 16));name=value\r\n\($0)\r\n" }.joined()
        let replies = [
            "Content-Length: \(body.utf8.count)\r\nX-Two: a\r\nx-two:  b \r\n\r\n" + body,
            "Transfer-Encoding: Chunked\r\nX-Two: a\r\nx-two: b\r\n\r\n\(chunks)0\r\nTrailer: 1\r\n\r\n",
            "X-Two: a\r\nx-two: b\r\n\r\n" + body,
        ]
        for text in replies {
            for isCut in [false, true] {
                let server = try RawServer { connection in
                    _ = connection.readHead()
                    let bytes = Array((ok + text).utf8)
                    for piece in isCut ? bytes.map({ [$0] }) : [bytes] { connection.send(piece) }
                }
                let reply = try await SocketTransport().send(try request(server))
                #expect(reply.status == 200 && reply.headers["x-two"] == "a, b", "\(text)")
                #expect(String(decoding: reply.body, as: UTF8.self) == body, "\(text)")
            }
        }
    }

    @Test func `what comes before the reply is passed over`() async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n")
            connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
        }
        let reply = try await SocketTransport().send(try request(server))
        #expect(reply.status == 404 && reply.body == Data("no".utf8))
    }

    @Test(arguments: [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 Not Modified")])
    func `a reply that has no body is not waited for`(verb: String, status: String) async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 \(status)\r\nContent-Length: 5\r\n\r\n")
            connection.waitForEnd()
        }
        let reply = try await SocketTransport().send(try request(server, verb, silence: .seconds(20)))
        #expect(reply.headers["content-length"] == "5" && reply.body.isEmpty)
    }

    @Test func `a request is sent as it is, from a file too, and a success is written to one`() async throws {
        let folder = try Folder()
        let (source, target) = (folder.url.appending(path: "source"), folder.url.appending(path: "target"))
        let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        try content.write(to: source)
        let seen = Mutex("")
        let server = try RawServer { connection in
            let head = connection.readHead()
            seen.withLock { $0 = head }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n")
            connection.send(connection.read(content.count))
        }
        let sent = Mutex<[UploadProgress]>([])
        var request = try request(server, "PUT")
        request.body = .file(source)
        request.destination = target
        request.progress = { step in sent.withLock { $0.append(step) } }
        let reply = try await SocketTransport().send(request)
        #expect(reply.file == target && reply.body.isEmpty)
        #expect(try Data(contentsOf: target) == content)
        let lines = seen.withLock { $0.components(separatedBy: "\r\n") }
        #expect(lines.first == "PUT /a%20b/c?d=e%26f HTTP/1.1")
        #expect(Set(lines).isSuperset(of: ["X-Test: yes", "Content-Length: 200000", "Host: 127.0.0.1:\(server.port)"]))
        let steps = sent.withLock { $0 }
        #expect(steps.count > 1 && steps.last?.sent == 200_000 && steps.allSatisfy { $0.total == 200_000 })
        request.body = .file(folder.url.appending(path: "none"))
        let missing = request
        let error = await #expect(throws: StreakSnapError.self) { try await SocketTransport().send(missing) }
        #expect(error?.kind == .file)
    }

    @Test func `a refusal that comes while the body is still being sent is the reply`() async throws {
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge")
        }
        var request = try request(server, "POST")
        // More than the buffers of both sockets take.
        request.body = .data(Data(count: 32 << 20))
        let reply = try await SocketTransport().send(request)
        #expect(reply.status == 413 && reply.body == Data("large".utf8))
    }

    @Test func `a server that says nothing, and one that stops in the middle, are given up`() async throws {
        for beginning in ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"] {
            let server = try RawServer { connection in
                _ = connection.readHead()
                connection.send(beginning)
                connection.waitForEnd()
            }
            let request = try request(server, silence: .seconds(1))
            let error = await #expect(throws: StreakSnapError.self) { try await SocketTransport().send(request) }
            #expect(error?.kind == .timedOut)
        }
    }

    @Test func `a connection that ends in the middle is a failure, and so is what is no reply`() async throws {
        for reply in [
            "", "HTTP/1.1 200 OK\r\nContent-", ok + "Content-Length: 5\r\n\r\nab",
            ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
            ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
        ] {
            #expect(try await failure(of: reply) == .network, "\(reply)")
        }
        for reply in [
            "hello\r\n\r\n", ok + "Content-Length: -5\r\n\r\n", ok + "Content-Length: five\r\n\r\n",
            ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", ok + "Transfer-Encoding: chunked\r\n\r\n-2\r\n",
        ] {
            #expect(try await failure(of: reply) == .badReply, "\(reply)")
        }
        let (socket, port) = try LocalServer.listen()
        close(socket)
        let nobody = TransportRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/")), verb: "GET")
        let error = await #expect(throws: StreakSnapError.self) { try await SocketTransport().send(nobody) }
        #expect(error?.kind == .network)
    }

    @Test func `a task that is cancelled ends its request at once`() async throws {
        let asked = Atomic(false)
        let ended = Atomic(false)
        let server = try RawServer { connection in
            _ = connection.readHead()
            asked.store(true, ordering: .relaxed)
            connection.waitForEnd()
            ended.store(true, ordering: .relaxed)
        }
        let request = try request(server)
        let asking = Task { try await SocketTransport().send(request) }
        try await eventually("the server is asked") { asked.load(ordering: .relaxed) }
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        try await eventually("the connection has ended") { ended.load(ordering: .relaxed) }
    }

    @Test func `a stream comes piece by piece, and its connection ends with it`() async throws {
        let isRead = Atomic(false)
        let ended = Atomic(false)
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
            )
            while !isRead.load(ordering: .relaxed) { usleep(1_000) }
            connection.send("3\r\ntwo\r\n")
            connection.waitForEnd()
            ended.store(true, ordering: .relaxed)
        }
        func read() async throws -> String {
            let stream = try await SocketTransport().open(try request(server))
            #expect(stream.status == 200 && stream.headers["content-type"] == "text/event-stream")
            var text = ""
            for try await piece in stream.pieces {
                text += String(decoding: piece, as: UTF8.self)
                isRead.store(text == "one" || text == "onetwo", ordering: .relaxed)
                if text == "onetwo" { break }
            }
            return text
        }
        let text = try await read()
        #expect(text == "onetwo")
        try await eventually("the connection has ended") { ended.load(ordering: .relaxed) }
    }
}

/// A server on a free port of 127.0.0.1 that does with each connection what a test says, and ends it then.
private final class RawServer: Sendable {
    let port: UInt16
    private let listener: Int32

    init(_ serve: @escaping @Sendable (RawConnection) -> Void) throws {
        (listener, port) = try LocalServer.listen()
        let listener = listener
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread {
                    var isOn: Int32 = 1
                    setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
                    serve(RawConnection(descriptor: client))
                    close(client)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}

/// The server's end of a connection.
private struct RawConnection {
    let descriptor: Int32

    /// The request up to its blank line, which it does not read beyond.
    func readHead() -> String {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), case let byte = read(1), !byte.isEmpty { head += byte }
        return String(decoding: head, as: UTF8.self)
    }

    /// So many bytes; fewer when the client has ended the connection.
    func read(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &bytes, count, Int32(MSG_WAITALL))
        return Array(bytes.prefix(max(0, received)))
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits until the client has ended the connection.
    func waitForEnd() {
        while !read(1).isEmpty {}
    }
}
