import Foundation

/// A reply as it came over the wire.
struct HTTPReply: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    /// The first header of this name.
    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSON { (try? JSON(body)) ?? .null }
    var data: JSON { json["data"] }
    /// The bytes of `data`, up to the envelope's end; all of a reply that is no envelope.
    var dataText: String {
        guard let start = text.range(of: "\"data\":"), let end = text.range(of: ",\"meta\":", options: .backwards) else {
            return text
        }
        return String(text[start.upperBound..<end.lowerBound])
    }
    /// `error.code` of the envelope.
    var code: String? { json["error"]["code"].string }
    /// The fields that the error names; of a route whose bodies follow a published interface the names in its object.
    var fields: [String] {
        let details = json["error"]["details"]
        return details.list.compactMap { $0["field"].string } + details.names.sorted()
    }
}

/// One HTTP/1.1 request per connection over a plain socket: nothing between the test and the gateway.
struct HTTPClient: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let port: UInt16

    /// Sends a request and reads the reply to its end.
    ///
    /// - Throws: `Failure` when there is no whole reply within 60 s.
    func send(_ method: String, _ target: String, headers: [(String, String)] = [], body: [UInt8]? = nil) async throws
        -> HTTPReply
    {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        let request = Array((head + "\r\n").utf8) + (body ?? [])
        return try await Workers.run { [port] in
            let reply = try Self.exchange(request, port)
            return try Self.parse(reply, isHead: method == "HEAD")
        }
    }

    private static func exchange(_ request: [UInt8], _ port: UInt16) throws -> [UInt8] {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(description: "no socket: \(errno)") }
        defer { close(descriptor) }
        var address = loopback(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Failure(description: "no connection: \(errno)") }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var sent = 0
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < deadline {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN) | (sent < request.count ? Int16(POLLOUT) : 0), revents: 0)
            guard Glibc.poll(&poll, 1, 1_000) > 0 else { continue }
            if poll.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count > 0 { reply += buffer[..<count] }
                if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return reply }
            }
            // A server that has answered already need not be sent the rest.
            if poll.revents & Int16(POLLOUT) != 0, sent < request.count, reply.isEmpty {
                let count = request[sent...].withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count > 0 { sent += count }
            } else if !reply.isEmpty, sent < request.count {
                sent = request.count
                shutdown(descriptor, Int32(SHUT_WR))
            }
        }
        throw Failure(description: "no whole reply within 60 s")
    }

    static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    private static func parse(_ bytes: [UInt8], isHead: Bool) throws -> HTTPReply {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Failure(description: "no reply, only \(bytes.count) bytes")
        }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else { throw Failure(description: "no status line: \(lines[0])") }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
        let rest = Array(bytes[end.upperBound...])
        let reply = HTTPReply(status: status, headers: headers, body: rest)
        if reply.header("Transfer-Encoding")?.lowercased() == "chunked" {
            return HTTPReply(status: status, headers: headers, body: try unchunked(rest))
        }
        if let length = reply.header("Content-Length").flatMap({ Int($0) }), !isHead, status != 304 {
            guard rest.count == length else { throw Failure(description: "\(rest.count) of \(length) bytes of the body") }
        }
        return reply
    }

    private static func unchunked(_ bytes: [UInt8]) throws -> [UInt8] {
        var body: [UInt8] = []
        var rest = bytes[...]
        while let line = rest.firstRange(of: Array("\r\n".utf8)) {
            guard let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16) else { break }
            if size == 0 { return body }
            guard line.upperBound + size + 2 <= rest.endIndex else { break }
            body += rest[line.upperBound..<(line.upperBound + size)]
            rest = rest[(line.upperBound + size + 2)...]
        }
        throw Failure(description: "a chunked body without its end")
    }
}

/// A `multipart/form-data` body.
struct Form: Sendable {
    static let boundary = "----end-to-end-boundary-7d93"
    private(set) var body: [UInt8] = []

    static var contentType: (String, String) { ("Content-Type", "multipart/form-data; boundary=\(boundary)") }

    init(
        photo: [UInt8]? = nil,
        part: String = "photo",
        fileName: String = "photo.jpg",
        type: String = "image/jpeg",
        fields: [(String, String)] = []
    ) {
        for (name, value) in fields { self.part("name=\"\(name)\"", nil, Array(value.utf8)) }
        if let photo { self.part("name=\"\(part)\"; filename=\"\(fileName)\"", type, photo) }
        body += Array("--\(Self.boundary)--\r\n".utf8)
    }

    private mutating func part(_ disposition: String, _ type: String?, _ bytes: [UInt8]) {
        body += Array("--\(Self.boundary)\r\nContent-Disposition: form-data; \(disposition)\r\n".utf8)
        if let type { body += Array("Content-Type: \(type)\r\n".utf8) }
        body += Array("\r\n".utf8) + bytes + Array("\r\n".utf8)
    }
}
