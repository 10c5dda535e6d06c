internal import FoundationEssentials
internal import JWTKit
public import Kernel

/// What an access token says (AU-3). Its life of 15 minutes is told by the product clock, so the development clock ages it too.
public struct AccessToken: Sendable, Hashable {
    /// What a token may do.
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
    /// `iat`.
    public let issuedAt: Instant
    /// `exp`.
    public let expiresAt: Instant

    /// A token's content.
    public init(userID: UserID, sessionID: SessionID, email: String, role: Role, issuedAt: Instant, expiresAt: Instant) {
        self.userID = userID
        self.sessionID = sessionID
        self.email = email
        self.role = role
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// `iss` and `aud` of every token.
    static let issuer = "streaksnap"
    static let audience = "streaksnap-api"
}

/// The claims as they stand in the JWT.
struct AccessTokenClaims: JWTPayload {
    var sub: String
    var email: String
    var iat: Int64
    var exp: Int64
    var iss: String
    var aud: String
    var sid: String
    var role: AccessToken.Role

    init(_ token: AccessToken) {
        self.sub = token.userID.description
        self.email = token.email
        self.iat = token.issuedAt.seconds
        self.exp = token.expiresAt.seconds
        self.iss = AccessToken.issuer
        self.aud = AccessToken.audience
        self.sid = token.sessionID.description
        self.role = token.role
    }

    /// The times are checked by the verifier, against the product clock.
    func verify(using _: some JWTAlgorithm) throws {
        guard iss == AccessToken.issuer else { throw JWTError.claimVerificationFailure(failedClaim: nil, reason: "issuer") }
        guard aud == AccessToken.audience else { throw JWTError.claimVerificationFailure(failedClaim: nil, reason: "audience") }
    }

    var token: AccessToken? {
        guard let userID = UserID(sub), let sessionID = SessionID(sid) else { return nil }
        return AccessToken(
            userID: userID,
            sessionID: sessionID,
            email: email,
            role: role,
            issuedAt: Instant(seconds: iat),
            expiresAt: Instant(seconds: exp)
        )
    }
}
