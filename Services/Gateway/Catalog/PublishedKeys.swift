private import FoundationEssentials
internal import Kernel
internal import Runtime

/// A JWK set as the service that signs access tokens publishes it, with the signature of its deployment key (D23).
struct PublishedKeys: Decodable, Sendable {
    /// A key as its members say it.
    struct Key: Codable, Sendable {
        let kty, crv, kid, x, y: String
    }

    /// How far the time of a signature may be from ours: a key that was published earlier may have been lost since.
    static let longest = Interval.minutes(10)

    let keys: [Key]
    /// Seconds since 1970, UTC; nil from a service that does not sign.
    let signedAt: Int64?
    let signature: String?

    private enum CodingKeys: String, CodingKey {
        case keys, signature
        case signedAt = "signed_at"
    }

    private struct Bare: Encodable {
        let keys: [Key]
    }

    /// The set without its signature: the same bytes for the same keys.
    var jwks: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(Bare(keys: keys)))
        }
    }

    /// Whether a service has signed it lately.
    func isSigned(by service: String, _ publicKeys: ServicePublicKeys, now: Instant) -> Bool {
        guard let signedAt, let signature,
            (now - Self.longest...now + Self.longest).contains(Instant(seconds: signedAt))
        else { return false }
        let statement = ServiceStatement.tokenKeys(
            service: service,
            signedAt: signedAt,
            keys: keys.map { (kty: $0.kty, crv: $0.crv, kid: $0.kid, x: $0.x, y: $0.y) }
        )
        return publicKeys.verify(signature, of: statement, by: service)
    }
}
