private import Cryptography
public import Kernel

/// AWS Signature Version 4 for S3, and for other services at the path `/`: paths are neither normalised nor encoded twice. Pure: the caller
/// passes the time.
public struct SigV4: Sendable {
    /// The access key. Printing it shows no secret.
    public struct Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        let keyID: String
        let secret: String
        let sessionToken: String?

        /// Credentials.
        ///
        /// - Parameters:
        ///   - keyID: `AKIA…`; sent in requests.
        ///   - secret: Never sent.
        ///   - sessionToken: Part of temporary credentials.
        public init(keyID: String, secret: String, sessionToken: String? = nil) {
            (self.keyID, self.secret, self.sessionToken) = (keyID, secret, sessionToken)
        }

        public var description: String { "Credentials(\(keyID))" }
        public var debugDescription: String { description }
        /// Reflection shows no part of it.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// A request to sign.
    public struct Request: Sendable {
        /// `GET`, `PUT`, …
        public var method: String
        /// `https` or `http`.
        public var scheme: String
        /// With the port, unless it is the scheme's own.
        public var host: String
        /// With its first slash, not percent-encoded.
        public var path: String
        /// Names and values, not percent-encoded.
        public var query: [(name: String, value: String)]
        /// All of them are signed, and also `Host`.
        public var headers: [(name: String, value: String)]

        /// A request.
        public init(
            _ method: String,
            scheme: String = "https",
            host: String,
            path: String,
            query: [(name: String, value: String)] = [],
            headers: [(name: String, value: String)] = []
        ) {
            (self.method, self.scheme, self.host) = (method, scheme, host)
            (self.path, self.query, self.headers) = (path, query, headers)
        }

        /// The URL of the request.
        public var url: String {
            let place = "\(scheme)://\(host)\(SigV4.encoded(path, keepingSlashes: true))"
            return query.isEmpty ? place : "\(place)?\(SigV4.canonical(query))"
        }
    }

    /// Replaces the hash of a body that is not signed.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"
    private static let algorithm = "AWS4-HMAC-SHA256"
    /// The longest validity of a link: a week.
    static let longestLink: Int64 = 604_800

    let credentials: Credentials
    let region: String
    let service: String

    /// A signer for one region, `eu-central-1`.
    public init(credentials: Credentials, region: String, service: String = "s3") {
        (self.credentials, self.region, self.service) = (credentials, region, service)
    }

    /// The headers to add to a request; `Authorization` is the last.
    ///
    /// - Parameters:
    ///   - request: The request without those headers.
    ///   - payloadHash: SHA-256 of the body in lower-case hexadecimal.
    ///   - now: The server refuses a time that differs from its own by more than 15 minutes.
    public func headers(
        for request: Request,
        payloadHash: String,
        now: Instant
    ) -> [(name: String, value: String)] {
        let time = Self.timestamp(now)
        // Only S3 wants the hash as a header too.
        var added = service == "s3" ? [("X-Amz-Content-SHA256", payloadHash)] : []
        added.append(("X-Amz-Date", time))
        if let token = credentials.sessionToken { added.append(("X-Amz-Security-Token", token)) }
        let (headers, names) = canonicalHeaders(request.headers + added, host: request.host)
        let signature = signature(of: request, query: request.query, headers, names, payloadHash, time)
        let value =
            "\(Self.algorithm) Credential=\(credentials.keyID)/\(scope(time)), SignedHeaders=\(names), Signature=\(signature)"
        return added + [("Authorization", value)]
    }

    /// A link that any holder may use until it expires. The body is not signed.
    ///
    /// - Parameters:
    ///   - request: Its headers must be sent with the same values.
    ///   - seconds: How long it is valid, 1…604,800.
    ///   - now: The start of its validity.
    public func link(to request: Request, seconds: Int64, now: Instant) -> String {
        let time = Self.timestamp(now)
        let (headers, names) = canonicalHeaders(request.headers, host: request.host)
        var signed = request
        signed.query += [
            ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(credentials.keyID)/\(scope(time))"),
            ("X-Amz-Date", time), ("X-Amz-Expires", String(min(max(seconds, 1), Self.longestLink))),
            ("X-Amz-SignedHeaders", names),
        ]
        if let token = credentials.sessionToken { signed.query.append(("X-Amz-Security-Token", token)) }
        let signature = signature(of: signed, query: signed.query, headers, names, Self.unsignedPayload, time)
        return "\(signed.url)&X-Amz-Signature=\(signature)"
    }

    private func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

    private func signature(
        of request: Request,
        query: [(name: String, value: String)],
        _ headers: String,
        _ names: String,
        _ payloadHash: String,
        _ time: String
    ) -> String {
        let canonical = [
            request.method, Self.encoded(request.path, keepingSlashes: true), Self.canonical(query), headers, names, payloadHash,
        ].joined(separator: "\n")
        let text = [Self.algorithm, time, scope(time), Self.hex(SHA256.hash(data: canonical.utf8))].joined(separator: "\n")
        var key = HMACSHA256(key: "AWS4\(credentials.secret)".utf8)
        for part in [String(time.prefix(8)), region, service, "aws4_request"] { key = HMACSHA256(key: key.code(for: part.utf8)) }
        return Self.hex(key.code(for: text.utf8))
    }

    /// The headers, one line each and sorted, and their names.
    private func canonicalHeaders(_ headers: [(name: String, value: String)], host: String) -> (lines: String, names: String) {
        var values: [String: [String]] = ["host": [host]]
        for (name, value) in headers {
            let words = value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
            values[name.lowercased(), default: []].append(words)
        }
        let names = values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let lines = names.map { "\($0):\((values[$0] ?? []).joined(separator: ","))\n" }.joined()
        return (lines, names.joined(separator: ";"))
    }

    /// The query, encoded and sorted.
    static func canonical(_ query: [(name: String, value: String)]) -> String {
        query.map { (encoded($0.name), encoded($0.value)) }
            .sorted { left, right in
                left.0 == right.0
                    ? left.1.utf8.lexicographicallyPrecedes(right.1.utf8) : left.0.utf8.lexicographicallyPrecedes(right.0.utf8)
            }
            .map { "\($0)=\($1)" }.joined(separator: "&")
    }

    /// Percent-encoding of everything that RFC 3986 does not call unreserved.
    static func encoded(_ text: String, keepingSlashes: Bool = false) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            case UInt8(ascii: "/") where keepingSlashes: bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `20130524T000000Z`.
    static func timestamp(_ instant: Instant) -> String {
        Instant(seconds: instant.seconds).description.filter { $0 != "-" && $0 != ":" }
    }

    /// Lower-case hexadecimal.
    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The hash of a body in memory.
    public static func hash(_ bytes: [UInt8]) -> String { hex(SHA256.hash(data: bytes)) }
}
