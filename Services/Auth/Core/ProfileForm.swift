package import AuthDomain
package import Kernel

/// What a client has chosen for a profile, checked field by field (PF-2).
package struct ProfileForm {
    /// As it is stored; nil when none was chosen.
    package let displayName: String?
    /// Nil when none was sent.
    package let zone: Zone?
    /// Nil when none was sent.
    package let locale: String?

    /// - Parameters:
    ///   - reserved: nil when it is not known what the profile has: a name that is reserved by now may stay.
    ///   - present: the account whose profile is changed; nil for a new one.
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    package init(
        username: String? = nil,
        displayName: String? = nil,
        timeZone: String?,
        timezoneOffset: Int32?,
        locale: String? = nil,
        _ reserved: ReservedNames?,
        present: Account? = nil
    ) throws {
        var check = FieldCheck()
        if reserved != nil, username != present?.username {
            _ = try check.take { try ProfileRules.requireUnreserved(username) }
        }
        self.displayName = try check.take(displayName) { text in
            let name = try DisplayName.checked(text)
            guard let reserved, name != present?.displayName else { return name }
            return try ProfileRules.displayName(name, reserved)
        }
        zone = try check.take { try ProfileRules.zone(name: timeZone, offsetMinutes: timezoneOffset) } ?? nil
        self.locale = try check.take { try ProfileRules.locale(locale) } ?? nil
        try check.finish()
    }
}
