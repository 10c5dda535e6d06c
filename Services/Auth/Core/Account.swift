package import AuthAPI
package import Kernel

/// An account as its row stands.
package struct Account: Sendable, Equatable {
    package let id: UserID
    package let email: String
    package let passwordHash: String?
    package var username: String
    package var displayName: String
    package let avatarKey: String
    package var timeZone: String
    package var timeZoneSince: Instant
    /// Local hour at which the snap window opens, 0…23 (PW-2).
    package var windowStartHour: Int32 = 10
    package var isAdmin: Bool
    package let status: AccountStatus
    package var termsVersion: String?
    package var termsAcceptedAt: Instant?
    package var emailVerifiedAt: Instant?
    /// The language of mails, a BCP 47 tag; empty until it was chosen.
    package var locale = ""
    package var usernameChangedAt: Instant?
    package let version: Int64
    package let createdAt: Instant
    package let updatedAt: Instant
}

extension Account {
    /// An account to be created.
    ///
    /// - Parameters:
    ///   - email: as typed; empty when Apple does not reveal it.
    ///   - passwordHash: nil for an account that signs in with Apple only.
    ///   - emailVerifiedAt: when the user proved to own the address; nil when they have not.
    ///   - locale: the language of mails; empty when it was not chosen.
    package init(
        id: UserID,
        email: String,
        passwordHash: String?,
        username: String,
        displayName: String,
        zone: Zone,
        emailVerifiedAt: Instant? = nil,
        locale: String = "",
        now: Instant
    ) {
        self.init(
            id: id,
            email: email,
            passwordHash: passwordHash,
            username: username,
            displayName: displayName,
            avatarKey: "",
            timeZone: zone.name,
            timeZoneSince: now,
            isAdmin: false,
            status: .active,
            emailVerifiedAt: emailVerifiedAt,
            locale: locale,
            version: 1,
            createdAt: now,
            updatedAt: now
        )
    }

    /// The state that other services keep (D13): of a deleted account no name, since another user may have it by now (AU-7).
    package var profileState: ProfileState {
        let isShown = status != .deleted
        return ProfileState(
            userID: id,
            version: version,
            username: isShown ? username : "",
            displayName: isShown ? displayName : "",
            avatarKey: isShown ? avatarKey : "",
            timeZone: timeZone,
            status: status,
            timeZoneSince: timeZoneSince,
            verifiedEmail: emailVerifiedAt == nil || !isShown ? "" : AccountRepository.key(ofEmail: email),
            termsVersion: termsVersion ?? "",
            windowStartHour: windowStartHour
        )
    }
}
