internal import AuthDomain
internal import FoundationEssentials
internal import Kernel

/// The claims of an identity token as Apple writes them: some are text at times and something else at others.
struct AppleClaims: Decodable {
    let iss: String
    let aud: OneOrMore
    let sub: String
    let exp: Double
    let iat: Double?
    let auth_time: Double?
    let nonce: String?
    let nonce_supported: Flag?
    let email: String?
    let email_verified: Flag?
    let is_private_email: Flag?

    var token: AppleToken {
        AppleToken(
            issuer: iss,
            audiences: aud.values,
            subject: sub,
            expiresAt: Instant(appleSeconds: exp),
            issuedAt: iat.map { Instant(appleSeconds: $0) },
            authenticatedAt: auth_time.map { Instant(appleSeconds: $0) },
            nonce: nonce,
            isNonceSupported: nonce_supported?.isSet ?? true,
            email: email.flatMap { $0.isEmpty ? nil : $0 },
            isEmailVerified: email_verified?.isSet ?? false
        )
    }

    /// Whether the address is a relay's, whose local part should not become a name.
    var hidesEmail: Bool {
        is_private_email?.isSet == true || email?.lowercased().hasSuffix("@privaterelay.appleid.com") == true
    }

    /// `true` or `"true"`.
    struct Flag: Decodable {
        let isSet: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                isSet = flag
            } else {
                isSet = try container.decode(String.self).lowercased() == "true"
            }
        }
    }

    /// `"a"` or `["a", "b"]`.
    struct OneOrMore: Decodable {
        let values: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let one = try? container.decode(String.self) {
                values = [one]
            } else {
                values = try container.decode([String].self)
            }
        }
    }
}

/// A notification of Apple's servers: a JWT with an event in it, as text that holds JSON or as an object.
struct AppleServerClaims: Decodable {
    let iss: String
    let aud: AppleClaims.OneOrMore
    let exp: Double?
    let iat: Double?
    let jti: String?
    let events: Events

    struct Events: Decodable {
        let event: Event

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                event = try JSONDecoder().decode(Event.self, from: Data(text.utf8))
            } else {
                event = try container.decode(Event.self)
            }
        }
    }

    struct Event: Decodable {
        let type: String
        let sub: String
        /// Apple writes milliseconds; seconds have been seen.
        let event_time: Double?
    }

    /// When it happened; nil when nothing says so.
    var happenedAt: Instant? {
        if let time = events.event.event_time { return Instant(appleSeconds: time > 100_000_000_000 ? time / 1_000 : time) }
        return iat.map { Instant(appleSeconds: $0) }
    }
}

extension Instant {
    /// From seconds in JSON, whatever they are: what is out of all range becomes the nearest that is not.
    init(appleSeconds seconds: Double) {
        let bounded = seconds.isFinite ? min(max(seconds, 0), 9_000_000_000) : 0
        self.init(milliseconds: Int64(bounded * 1_000))
    }
}
