internal import Kernel

/// The address of a bucket: its host, and the path before the keys.
public struct S3Address: Sendable, Hashable {
    /// An invalid address; the text says what is wrong.
    public enum Problem: Error, Hashable, Sendable {
        /// The endpoint is invalid; the text says what it must be.
        case endpoint(String)
        /// The region is invalid; the text says what it must be.
        case region(String)
        /// The bucket is invalid; the text says what it must be.
        case bucket(String)
    }

    /// `https` or `http`.
    public let scheme: String
    /// With the port, unless it is the scheme's own.
    public let host: String
    /// Before every key: `/`, or `/bucket/`.
    let root: String
    let bucket: String

    /// The address of a bucket.
    ///
    /// - Parameters:
    ///   - endpoint: `https://s3.example.com`, with a port if it is not the scheme's; empty: AWS in the region.
    ///   - region: `eu-central-1`.
    ///   - bucket: 3…63 lower-case letters, digits, hyphens and dots.
    ///   - pathStyle: Whether the bucket is the first segment of the path instead of the host: most self-hosted stores need this.
    public init(endpoint: String, region: String, bucket: String, pathStyle: Bool) throws(Problem) {
        guard !region.isEmpty, region.utf8.count <= 64, region.utf8.allSatisfy({ Self.isNameByte($0) }) else {
            throw .region("must be the name of a region, eu-central-1")
        }
        let edge = { (byte: UInt8?) in byte.map { Self.isNameByte($0) && $0 != UInt8(ascii: "-") } ?? false }
        guard (3...63).contains(bucket.utf8.count), edge(bucket.utf8.first), edge(bucket.utf8.last),
            bucket.utf8.allSatisfy({ Self.isNameByte($0) || $0 == UInt8(ascii: ".") }), !bucket.contains("..")
        else { throw .bucket("must be 3 to 63 lower-case letters, digits, hyphens and dots") }
        let (scheme, authority) = try Self.parse(endpoint.isEmpty ? "https://s3.\(region).amazonaws.com" : endpoint)
        guard pathStyle || scheme == "http" || !bucket.contains(".") else {
            throw .bucket("with dots matches no certificate: use the path style")
        }
        guard pathStyle || (!authority.hasPrefix("[") && IPAddress(authority.prefix { $0 != ":" }) == nil) else {
            throw .endpoint("is an address, which cannot have a bucket in front: use the path style")
        }
        self.scheme = scheme
        self.host = pathStyle ? authority : "\(bucket).\(authority)"
        self.root = pathStyle ? "/\(bucket)/" : "/"
        self.bucket = bucket
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (97...122).contains(byte) || byte == UInt8(ascii: "-")
    }

    private static func parse(_ endpoint: String) throws(Problem) -> (scheme: String, authority: String) {
        let problem = Problem.endpoint("must be https://HOST or https://HOST:PORT, or the same with http, and nothing after it")
        guard let scheme = ["https", "http"].first(where: { endpoint.lowercased().hasPrefix("\($0)://") }) else { throw problem }
        var rest = endpoint.dropFirst(scheme.count + 3).lowercased()[...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let isBracketed = rest.hasPrefix("[")
        let hostEnd =
            (isBracketed ? rest.firstIndex(of: "]").map { rest.index(after: $0) } : rest.firstIndex(of: ":")) ?? rest.endIndex
        let (host, tail) = (rest[..<hostEnd], rest[hostEnd...])
        let isHost =
            isBracketed
            ? host.hasSuffix("]") && IPAddress(host.dropFirst().dropLast()) != nil
            : !host.isEmpty && host.utf8.allSatisfy { isNameByte($0) || $0 == UInt8(ascii: ".") }
        guard isHost else { throw problem }
        if tail.isEmpty { return (scheme, String(host)) }
        guard tail.first == ":", let port = UInt16(tail.dropFirst()), port > 0, tail.dropFirst().allSatisfy(\.isNumber) else {
            throw problem
        }
        // Clients omit the scheme's own port in `Host`, which is signed.
        return (scheme, port == (scheme == "https" ? 443 : 80) ? String(host) : "\(host):\(port)")
    }
}
