public import Kernel

/// A token that was sent by mail, as its row stands (AU-13). It works once.
///
/// | token | answer |
/// |---|---|
/// | unknown, or for something else | `EMAIL_TOKEN_INVALID` |
/// | used | `EMAIL_TOKEN_USED` |
/// | the password or the address was changed since | `EMAIL_TOKEN_SUPERSEDED` |
/// | too old | `EMAIL_TOKEN_EXPIRED` |
/// | of a deleted account, and none of these | `ACCOUNT_SCHEDULED_FOR_DELETION` |
public struct EmailToken: Hashable, Sendable {
    /// What a token is for. The numbers are those of the table.
    public enum Purpose: Int32, Hashable, Sendable, CaseIterable {
        /// Proves that the owner of the account reads its address.
        case verification = 1
        /// Sets a new password.
        case passwordReset = 2
        /// Proves that the owner of the account reads the new address.
        case emailChange = 3

        /// How long a token works.
        public var lifetime: Interval { self == .passwordReset ? .hours(1) : .hours(24) }
    }

    public let purpose: Purpose
    /// Where it was sent.
    public let address: String
    public let expiresAt: Instant
    public let usedAt: Instant?
    public let supersededAt: Instant?

    /// A token as stored.
    public init(purpose: Purpose, address: String, expiresAt: Instant, usedAt: Instant? = nil, supersededAt: Instant? = nil) {
        (self.purpose, self.address, self.expiresAt) = (purpose, address, expiresAt)
        (self.usedAt, self.supersededAt) = (usedAt, supersededAt)
    }

    /// Why the token does not work; nil when it does.
    public func refusal(for purposes: Set<Purpose>, now: Instant) -> ServiceError? {
        guard purposes.contains(purpose) else { return Self.invalid }
        if usedAt != nil {
            return ServiceError(.failedPrecondition, "EMAIL_TOKEN_USED", "This link was used before.")
        }
        if supersededAt != nil { return Self.superseded }
        guard now < expiresAt else {
            return ServiceError(.failedPrecondition, "EMAIL_TOKEN_EXPIRED", "This link is too old. Ask for a new one.")
        }
        return nil
    }

    /// There is no such token.
    public static let invalid = ServiceError(.invalidArgument, "EMAIL_TOKEN_INVALID", "This link is not valid.")

    /// What it was for has changed since.
    public static let superseded = ServiceError(
        .failedPrecondition,
        "EMAIL_TOKEN_SUPERSEDED",
        "The password or the e-mail address was changed after this link was sent. Ask for a new one."
    )

    /// An address for the eyes of the owner of another one: `a…@example.com`.
    public static func masked(_ address: String) -> String {
        guard let at = address.lastIndex(of: "@"), let first = address.first, address.startIndex < at else { return "…" }
        return "\(first)…\(address[at...])"
    }
}
