public import NIOCore
public import NIOHTTP1

/// One request: what its head says, and its body.
public struct HTTPRequest: Sendable {
    /// The method as it was sent.
    public let method: HTTPMethod
    /// What is asked for, without its query and not decoded: `/a/b`; `*` of `OPTIONS *`.
    public let path: String
    /// What follows `?` in the target, not decoded; nil without one.
    public let query: String?
    /// The headers as they were sent.
    public let headers: HTTPHeaders
    /// The connection.
    public let channel: any Channel
    /// What follows the head; empty while only that is there.
    public internal(set) var body = HTTPBody(ByteBuffer())
    /// Of a client of HTTP/1.0.
    let isOld: Bool
    /// Whether the client wants the connection kept.
    let keepsAlive: Bool

    init(_ head: HTTPRequestHead, _ channel: any Channel) {
        (method, headers, self.channel) = (head.method, head.headers, channel)
        (isOld, keepsAlive) = (head.version.minor == 0, head.isKeepAlive)
        (path, query) = Self.parts(of: head.uri)
    }

    /// The other end of the connection; nil when it is not known.
    public var remoteAddress: SocketAddress? { channel.remoteAddress }

    /// The parameters of the query in their order. Values are decoded, unless their encoding is wrong; `+` stays.
    public var parameters: [(name: String, value: String)] {
        (query ?? "").split(separator: "&").map { part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.count > 1 ? pair[1] : ""
            return (String(pair[0]), Self.percentDecoded(value) ?? String(value))
        }
    }

    /// The first parameter of this name; nil without one.
    public func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The path and the query of a target: a path, or a whole URL (RFC 9112 §3.2).
    private static func parts(of target: String) -> (path: String, query: String?) {
        var rest = Substring(target)
        if rest.utf8.first != UInt8(ascii: "/"), let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        }
        guard let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (rest.isEmpty ? "/" : String(rest), nil) }
        let query = rest[rest.index(after: mark)...].prefix { $0 != "#" }
        return (mark == rest.startIndex ? "/" : String(rest[..<mark]), String(query))
    }

    private static func percentDecoded(_ text: Substring) -> String? {
        var (bytes, rest) = ([UInt8](), text.utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}

extension HTTPHeaders {
    /// The value of a header, whatever the case of its name: of several all, joined by `, ` (RFC 9110 §5.3); nil without any. What is
    /// set replaces all of them, and nil removes them.
    public subscript(field name: String) -> String? {
        get {
            var found: String?
            for (key, value) in self where key.isHeader(name) { found = found.map { "\($0), \(value)" } ?? value }
            return found
        }
        set {
            if let newValue { replaceOrAdd(name: name, value: newValue) } else { remove(name: name) }
        }
    }

    /// Takes line breaks out of values, which would become headers of their own (RFC 9110 §5.5).
    mutating func secure() {
        func isBreak(_ byte: UInt8) -> Bool { byte == 13 || byte == 10 || byte == 0 }
        guard contains(where: { $0.value.utf8.contains(where: isBreak) }) else { return }
        self = HTTPHeaders(
            map { name, value in (name, String(decoding: value.utf8.map { isBreak($0) ? 32 : $0 }, as: UTF8.self)) }
        )
    }
}

extension String {
    /// Names of headers are the same in any case. All are ASCII.
    fileprivate func isHeader(_ name: String) -> Bool {
        utf8.count == name.utf8.count && utf8.elementsEqual(name.utf8) { $0 & 0xDF == $1 & 0xDF }
    }
}
