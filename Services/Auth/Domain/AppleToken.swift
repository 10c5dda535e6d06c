public import Kernel

/// What an identity token of Apple's says, once its signature is verified (AU-5).
public struct AppleToken: Hashable, Sendable {
    /// Who issues them.
    public static let issuer = "https://appleid.apple.com"
    /// How far Apple's clock and ours may differ.
    public static let clockTolerance = Interval.minutes(1)
    /// How old a token may be that confirms what cannot be undone (AU-7).
    public static let recency = Interval.minutes(5)

    /// `iss`.
    public var issuer: String
    /// `aud`: the apps it was made for.
    public var audiences: [String]
    /// `sub`: the user, the same for all apps of one team.
    public var subject: String
    /// `exp`.
    public var expiresAt: Instant
    /// `iat`: when Apple made it.
    public var issuedAt: Instant?
    /// `auth_time`: when the user proved to be present.
    public var authenticatedAt: Instant?
    /// `nonce`, when the app asked with one.
    public var nonce: String?
    /// `nonce_supported`: false when the device could not pass a nonce on.
    public var isNonceSupported: Bool
    /// `email`; a relay address when the user hides the own one.
    public var email: String?
    /// `email_verified`.
    public var isEmailVerified: Bool

    /// A token's content.
    public init(
        issuer: String,
        audiences: [String],
        subject: String,
        expiresAt: Instant,
        issuedAt: Instant? = nil,
        authenticatedAt: Instant? = nil,
        nonce: String? = nil,
        isNonceSupported: Bool = true,
        email: String? = nil,
        isEmailVerified: Bool = false
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.subject = subject
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.authenticatedAt = authenticatedAt
        self.nonce = nonce
        self.isNonceSupported = isNonceSupported
        self.email = email
        self.isEmailVerified = isEmailVerified
    }

    /// Why a token is not accepted.
    public enum Problem: String, Hashable, Sendable {
        case issuer, audience, expired, nonce, subject
    }

    /// The nonce an app sent, as it must stand in the token: hashed, so that who has got hold of a token does not know what to send with it.
    public struct SentNonce: Hashable, Sendable {
        let sha256: String

        /// - Parameter sha256: the SHA-256 of what the app sent, lower-case hex.
        public init(sha256: String) { self.sha256 = sha256 }
    }

    /// What is wrong with the token; nil when it is good.
    ///
    /// A token that holds a nonce needs the request to send it: a client that only got hold of the token cannot.
    ///
    /// - Parameter clients: our apps' ids.
    public func problem(clients: Set<String>, nonce sent: SentNonce?, now: Instant) -> Problem? {
        if issuer != Self.issuer { return .issuer }
        if clients.isDisjoint(with: audiences) { return .audience }
        if expiresAt <= now - Self.clockTolerance { return .expired }
        if subject.isEmpty { return .subject }
        switch (nonce, sent) {
        case (nil, nil): return nil
        case (let held?, let sent?): return held.lowercased() == sent.sha256 ? nil : .nonce
        case (_?, nil): return .nonce
        case (nil, _?): return isNonceSupported ? .nonce : nil
        }
    }

    /// Whether the user was there within the last 5 minutes (AU-7). A token that does not say when it was made is not recent, nor is one
    /// from the future.
    public func isRecent(at now: Instant) -> Bool {
        guard let made = authenticatedAt ?? issuedAt else { return false }
        return made >= now - Self.recency && made <= now + Self.clockTolerance
    }

    /// The name to store at the first sign-in; nil when the app sent none.
    public static func name(display: String?, full: String?, given: String?, family: String?) -> String? {
        let parts = [given, family].compactMap { $0.map(DisplayName.trimmed) }.filter { !$0.isEmpty }.joined(separator: " ")
        return [display, full, parts].compactMap { $0 }.lazy.compactMap(DisplayName.cleaned).first
    }
}

/// Which account a user who signs in with Apple gets (AU-5, AU-13).
public enum AppleSignIn {
    /// What is known of the account that has the token's e-mail.
    public struct Holder: Hashable, Sendable {
        /// Whether its owner is known to own the address.
        public var isEmailVerified: Bool
        /// Whether another Apple user signs in to it already.
        public var hasAppleUser: Bool

        /// What is known.
        public init(isEmailVerified: Bool, hasAppleUser: Bool) {
            self.isEmailVerified = isEmailVerified
            self.hasAppleUser = hasAppleUser
        }
    }

    /// What to do.
    public enum Decision: Hashable, Sendable {
        /// The account this Apple user has had before.
        case signIn
        /// The account that has the e-mail: both sides have proved to own it.
        case link
        /// A new account.
        case create
        /// An account has this e-mail whose owner has not proved to own it, or Apple has not: linking would give one user the other's account.
        case refuse
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - isKnown: whether this Apple user has an account.
    ///   - holder: the account with the token's e-mail; nil when there is none, or the token has no e-mail.
    public static func decide(isKnown: Bool, isEmailVerified: Bool, holder: Holder?) -> Decision {
        if isKnown { return .signIn }
        guard let holder else { return .create }
        return isEmailVerified && holder.isEmailVerified && !holder.hasAppleUser ? .link : .refuse
    }
}
