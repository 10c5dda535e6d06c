public import Kernel

/// The content of an access token (AU-3). Its 15 minutes are measured by the product clock, so the development clock expires it
/// too.
public struct AccessToken: Sendable, Hashable {
    /// The role of a token.
    public enum Role: String, Sendable, Codable {
        case guest, user, admin
    }

    /// `sub`.
    public let userID: UserID
    /// `sid`.
    public let sessionID: SessionID
    /// `email`; empty for guests.
    public let email: String
    /// `role`.
    public let role: Role
    /// `enrol`: of an administrator who has no second factor yet and needs one. The role is that of a user until then.
    public let mustEnrol: Bool
    /// `iat`.
    public let issuedAt: Instant
    /// `exp`.
    public let expiresAt: Instant

    /// A token's content.
    public init(
        userID: UserID,
        sessionID: SessionID,
        email: String,
        role: Role,
        mustEnrol: Bool = false,
        issuedAt: Instant,
        expiresAt: Instant
    ) {
        self.userID = userID
        self.sessionID = sessionID
        self.email = email
        self.role = role
        self.mustEnrol = mustEnrol
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// `iss` and `aud` of every token.
    static let issuer = "streaksnap"
    static let audience = "streaksnap-api"
}

/// The claims in the JWT.
struct AccessTokenClaims: Codable {
    var sub: String
    var email: String
    var iat: Int64
    var exp: Int64
    var iss: String
    var aud: String
    var sid: String
    var role: AccessToken.Role
    /// Absent where it is false.
    var enrol: Bool?

    init(_ token: AccessToken) {
        self.sub = token.userID.description
        self.email = token.email
        self.iat = token.issuedAt.seconds
        self.exp = token.expiresAt.seconds
        self.iss = AccessToken.issuer
        self.aud = AccessToken.audience
        self.sid = token.sessionID.description
        self.role = token.role
        self.enrol = token.mustEnrol ? true : nil
    }

    /// nil for claims of another issuer, for another audience, or with ids that are none. The verifier checks the times, by the product clock.
    var token: AccessToken? {
        guard iss == AccessToken.issuer, aud == AccessToken.audience, let userID = UserID(sub), let sessionID = SessionID(sid)
        else { return nil }
        return AccessToken(
            userID: userID,
            sessionID: sessionID,
            email: email,
            role: role,
            mustEnrol: enrol ?? false,
            issuedAt: Instant(seconds: iat),
            expiresAt: Instant(seconds: exp)
        )
    }
}
