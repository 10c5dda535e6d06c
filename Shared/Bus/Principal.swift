public import Kernel

/// Who a request is made for. Made by the gateway from a verified access token; believed on the bus because only the gateway and
/// services may publish requests (D9).
public struct Principal: Sendable, Equatable {
    /// What kind of caller it is.
    public enum Role: String, Sendable, CaseIterable {
        /// Not signed in.
        case guest
        /// A signed-in person.
        case user
        /// A signed-in person with moderation rights.
        case admin
        /// A service acting on its own behalf.
        case service
    }

    /// The person; nil for guests and services.
    public var userID: UserID?
    /// What kind of caller it is.
    public var role: Role
    /// The sign-in that the access token belongs to.
    public var sessionID: SessionID?
    /// The person's IANA zone, as the token says.
    public var zone: String?
    /// The person's plan, as the token says; a hint, `billing` knows.
    public var plan: String?

    /// A principal of these parts.
    public init(userID: UserID? = nil, role: Role, sessionID: SessionID? = nil, zone: String? = nil, plan: String? = nil) {
        self.userID = userID
        self.role = role
        self.sessionID = sessionID
        self.zone = zone
        self.plan = plan
    }
}
