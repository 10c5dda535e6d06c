public import Kernel

/// Who a request is made for. The gateway makes it from a verified access token and seals it; services check the seal before any handler
/// sees it (D23). One that a service makes itself can only be `Principal(role: .service)`.
public struct Principal: Sendable, Equatable {
    /// The kind of caller.
    public enum Role: String, Sendable, CaseIterable {
        /// Not signed in.
        case guest
        /// A signed-in user.
        case user
        /// A signed-in user with moderation rights.
        case admin
        /// A service acting on its own behalf.
        case service
    }

    /// The user, or the guest of a device; nil for services and for those without a token.
    public var userID: UserID?
    /// The kind of caller.
    public var role: Role
    /// The session of the access token.
    public var sessionID: SessionID?

    /// A principal of these parts.
    public init(userID: UserID? = nil, role: Role, sessionID: SessionID? = nil) {
        self.userID = userID
        self.role = role
        self.sessionID = sessionID
    }
}
