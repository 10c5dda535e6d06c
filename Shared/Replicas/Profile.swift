public import AuthAPI
public import CommonAPI
public import Kernel

/// What a service knows of a person without asking `auth` (D13).
public struct Profile: Sendable, Hashable {
    /// Who it is.
    public let userID: UserID
    /// Unique handle.
    public let username: String
    /// The name shown.
    public let displayName: String
    /// Where the blob store has the avatar; empty when there is none.
    public let avatarKey: String
    /// Link to the avatar; nil when there is none.
    public let avatarURL: String?
    /// The person's time zone.
    public let zone: Zone
    /// Since when.
    public let zoneSince: Instant
    /// Whether the person may be seen.
    public let status: AccountStatus
    /// Version of the terms of service that were accepted; empty when none were (AU-9).
    public let termsVersion: String
    /// Local hour at which the snap window opens, 0…23 (PW-2).
    public let windowStartHour: Int

    /// The hour of a user who has not chosen one.
    static let defaultWindowStartHour: Int32 = 10

    /// Whether the account can be found, befriended and shown.
    public var isVisible: Bool { status == .active }

    /// What every user may know.
    public var summary: UserSummary {
        .known(userID, status, username: username, displayName: displayName, avatarURL: avatarURL)
    }
}

extension UserSummary {
    /// What every user may know of one; of one who may not be seen (deleted, suspended, banned), only that the account exists.
    static func known(_ id: UserID, _ status: AccountStatus, username: String, displayName: String, avatarURL: String?)
        -> UserSummary
    {
        guard status == .active else { return .unavailable(id) }
        return UserSummary(userID: id, username: username, displayName: displayName, avatarURL: avatarURL)
    }

    /// A user who may not be seen, whatever the reason: a list shows that there is an entry, and not whose.
    public static func unavailable(_ id: UserID) -> UserSummary {
        UserSummary(userID: id, displayName: "Unavailable account")
    }
}
