#if os(Linux)
    import Foundation
    import Glibc
    import StreakSnapClient

    /// Plain HTTP to 127.0.0.1, where worlds are, over a connection of its own for each request. It follows no redirects.
    ///
    /// On Linux `URLSession` watches a descriptor for a moment after libcurl has closed it. Worlds begin and end all the time, the next
    /// connection gets the same number, and now and then nothing of it arrives any more: the request waits until its time is over.
    struct SocketTransport: Transport {
        func send(_ request: TransportRequest) async throws -> TransportReply {
            let exchange = try Exchange(request)
            return try await Self.onThread(exchange) { finish in finish(Result { try exchange.reply() }) }
        }

        func open(_ request: TransportRequest) async throws -> TransportStream {
            let exchange = try Exchange(request)
            return try await Self.onThread(exchange) { finish in
                let head: HTTPHead
                do { head = try exchange.head() } catch { return finish(.failure(error)) }
                let pieces = Self.begin(head, exchange, finish)
                do {
                    try exchange.body(head) { pieces.yield($0) }
                    pieces.finish()
                } catch { pieces.finish(throwing: error) }
            }
        }

        /// Hands the stream to its reader, who alone may keep it: the connection ends with it.
        ///
        /// - Returns: where its pieces come from.
        private static func begin(
            _ head: HTTPHead,
            _ exchange: Exchange,
            _ finish: (Result<TransportStream, any Error>) -> Void
        ) -> AsyncThrowingStream<Data, any Error>.Continuation {
            let (stream, pieces) = AsyncThrowingStream<Data, any Error>.makeStream()
            pieces.onTermination = { _ in exchange.cancel() }
            finish(.success(TransportStream(status: head.status, headers: head.fields, pieces: stream)))
            return pieces
        }

        /// Runs blocking work, whose answer may come before its end.
        private static func onThread<Answer: Sendable>(
            _ exchange: Exchange,
            _ work: @escaping @Sendable (_ finish: @escaping @Sendable (Result<Answer, any Error>) -> Void) -> Void
        ) async throws -> Answer {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    Thread { work { continuation.resume(with: $0) } }.start()
                }
            } onCancel: {
                exchange.cancel()
            }
        }
    }

    /// The beginning of a reply.
    private struct HTTPHead {
        let status: Int
        /// Their names in lower case.
        let fields: [String: String]

        /// - Throws: `badReply`.
        init(_ bytes: Data) throws {
            let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
            let words = (lines.first ?? "").split(separator: " ")
            guard words.count >= 2, let status = Int(words[1]) else {
                throw StreakSnapError(kind: .badReply, message: "The reply has no status line.")
            }
            self.status = status
            var fields: [String: String] = [:]
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                let name = line[..<colon].lowercased()
                let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                fields[name] = fields[name].map { "\($0), \(value)" } ?? value
            }
            self.fields = fields
        }
    }

    /// One request and its reply, over one connection. All but `cancel` is for one thread.
    private final class Exchange: @unchecked Sendable {
        /// Bytes that are sent or received at once.
        private static let part = 1 << 16
        private let request: TransportRequest
        private let descriptor: Int32
        private let lock = NSLock()
        private var isCancelled = false
        /// Received and not used yet.
        private var received = Data()

        /// - Throws: `network` when there is no connection, `file` when the body cannot be read.
        init(_ request: TransportRequest) throws {
            if case .file(let file) = request.body, !FileManager.default.isReadableFile(atPath: file.path) {
                throw StreakSnapError(kind: .file, message: "\(file.lastPathComponent) cannot be read.")
            }
            self.request = request
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0, let port = request.url.port.flatMap({ UInt16(exactly: $0) }) else { throw Self.failure(errno) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            guard isConnected else { throw Self.failure(errno) }
            var silence = timeval(tv_sec: max(1, Int(request.silence.components.seconds)), tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &silence, socklen_t(MemoryLayout<timeval>.size))
            }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }

        /// Ends it from any thread; the descriptor is closed with the last reference.
        func cancel() {
            lock.withLock { isCancelled = true }
            shutdown(descriptor, Int32(SHUT_RDWR))
        }

        /// The whole reply.
        func reply() throws -> TransportReply {
            let head = try head()
            var reply = TransportReply(status: head.status, headers: head.fields)
            guard let destination = request.destination, (200..<300).contains(head.status) else {
                try body(head) { reply.body.append($0) }
                return reply
            }
            _ = FileManager.default.createFile(atPath: destination.path, contents: nil)
            do {
                let file = try FileHandle(forWritingTo: destination)
                defer { try? file.close() }
                try body(head) { try file.write(contentsOf: $0) }
            } catch let error as StreakSnapError { throw error } catch {
                throw StreakSnapError(kind: .file, message: "\(destination.lastPathComponent) cannot be written: \(error)")
            }
            reply.file = destination
            return reply
        }

        /// Sends the request and receives the beginning of the reply.
        func head() throws -> HTTPHead {
            try sendRequest()
            while true {
                if let end = received.range(of: Data("\r\n\r\n".utf8)) {
                    let head = try HTTPHead(received[received.startIndex..<end.lowerBound])
                    received.removeSubrange(received.startIndex..<end.upperBound)
                    if head.status >= 200 { return head }
                } else if try !receive() {
                    throw StreakSnapError(kind: .network, message: "The connection ended without a reply.")
                }
            }
        }

        /// Receives the rest of the reply.
        func body(_ head: HTTPHead, _ take: (Data) throws -> Void) throws {
            if request.verb == "HEAD" || head.status == 204 || head.status == 304 { return }
            if head.fields["transfer-encoding"]?.lowercased() == "chunked" {
                while case let size = try chunkSize(), size > 0 {
                    try piece(of: size, take)
                    try piece(of: 2) { _ in }
                }
            } else if let text = head.fields["content-length"] {
                guard let length = Int(text), length >= 0 else {
                    throw StreakSnapError(kind: .badReply, message: "The reply has a body of no length.")
                }
                try piece(of: length, take)
            } else {
                repeat {
                    if !received.isEmpty { try take(received) }
                    received = Data()
                } while try receive()
            }
        }

        private func chunkSize() throws -> Int {
            while true {
                if let end = received.range(of: Data("\r\n".utf8)) {
                    let line = String(decoding: received[received.startIndex..<end.lowerBound], as: UTF8.self)
                    received.removeSubrange(received.startIndex..<end.upperBound)
                    guard let size = Int(line.prefix { $0 != ";" }, radix: 16), size >= 0 else {
                        throw StreakSnapError(kind: .badReply, message: "The reply has a chunk without a size.")
                    }
                    return size
                }
                try receiveMore()
            }
        }

        private func piece(of size: Int, _ take: (Data) throws -> Void) throws {
            var missing = size
            while missing > 0 {
                if received.isEmpty { try receiveMore() }
                let part = received.prefix(missing)
                missing -= part.count
                try take(Data(part))
                received.removeFirst(part.count)
            }
        }

        private func sendRequest() throws {
            let (body, size) = try content()
            let url = request.url
            let parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
            var target = parts?.percentEncodedPath ?? url.path
            if target.isEmpty { target = "/" }
            if let query = parts?.percentEncodedQuery { target += "?" + query }
            var head = "\(request.verb) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(url.port ?? 80)\r\nConnection: close\r\n"
            for (name, value) in request.headers { head += "\(name): \(value)\r\n" }
            if request.body != .none || ["POST", "PUT", "PATCH"].contains(request.verb) { head += "Content-Length: \(size)\r\n" }
            guard try send(Data((head + "\r\n").utf8)) else { return }
            var sent = 0
            while let part = try body(), !part.isEmpty {
                // A server that has refused the request closes while it is sent; why is in the reply.
                guard try send(part) else { return }
                sent += part.count
                request.progress?(UploadProgress(sent: Int64(sent), total: Int64(size)))
            }
        }

        /// The body, part by part, and its size in bytes.
        private func content() throws -> (next: () throws -> Data?, size: Int) {
            switch request.body {
            case .none: return ({ nil }, 0)
            case .data(let data):
                var rest = data
                let next = {
                    defer { rest = rest.dropFirst(Self.part) }
                    return rest.prefix(Self.part)
                }
                return (next, data.count)
            case .file(let url):
                let file = try FileHandle(forReadingFrom: url)
                let size = try file.seekToEnd()
                try file.seek(toOffset: 0)
                return ({ try file.read(upToCount: Self.part) }, Int(size))
            }
        }

        /// - Returns: false when the server takes no more.
        private func send(_ data: Data) throws -> Bool {
            var rest = data[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EPIPE || errno == ECONNRESET, !lock.withLock({ isCancelled }) {
                    return false
                } else if errno != EINTR {
                    throw failed(errno)
                }
            }
            return true
        }

        private func receiveMore() throws {
            guard try receive() else {
                throw StreakSnapError(kind: .network, message: "The connection ended in the middle of a reply.")
            }
        }

        /// - Returns: false at the end.
        private func receive() throws -> Bool {
            var buffer = [UInt8](repeating: 0, count: Self.part)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count < 0, errno == EINTR { continue }
                if count < 0 { throw failed(errno) }
                if count == 0, lock.withLock({ isCancelled }) { throw CancellationError() }
                received.append(contentsOf: buffer[..<max(0, count)])
                return count > 0
            }
        }

        private func failed(_ number: Int32) -> any Error {
            lock.withLock { isCancelled } ? CancellationError() : Self.failure(number)
        }

        private static func failure(_ number: Int32) -> StreakSnapError {
            let isLate = number == EAGAIN || number == EWOULDBLOCK
            let reason = isLate ? "it has said nothing for too long" : String(cString: strerror(number))
            return StreakSnapError(kind: isLate ? .timedOut : .network, message: "The server cannot be reached: \(reason).")
        }
    }
#endif
