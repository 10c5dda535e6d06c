package import AuthDomain
package import Kernel

extension ServiceError {
    package static let usernameTaken = ServiceError(
        .alreadyExists,
        "USERNAME_TAKEN",
        "This username is taken.",
        details: [.init(field: "username", message: "is taken")]
    )
}

/// What clients may choose for a profile, and how it is refused.
package enum ProfileRules {
    /// Checks a username that a client has chosen; nil when it has chosen none.
    ///
    /// - Throws: `VALIDATION_ERROR` for a username that is reserved.
    package static func requireUnreserved(_ username: String?) throws(ServiceError) {
        guard let username, Username.isReserved(username) else { return }
        throw ServiceError.validation(field: "username", "is reserved")
    }

    /// A display name that a client has chosen, as it is stored.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `display_name` for one that is reserved, and what `DisplayName.checked` throws.
    package static func displayName(_ text: String, _ reserved: ReservedNames) throws(ServiceError) -> String {
        let name = try DisplayName.checked(text)
        guard !reserved.contains(name) else { throw ServiceError.validation(field: "display_name", "is reserved") }
        return name
    }

    /// The language that a client has sent; nil when it has sent none.
    ///
    /// - Throws: `VALIDATION_ERROR` for what is no BCP 47 tag: a language of 2 or 3 letters, and further parts between hyphens.
    package static func locale(_ text: String?) throws(ServiceError) -> String? {
        guard let text else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isLetter = { (byte: UInt8) in (65...90).contains(byte & 0xDF) }
        let isTag =
            parts.first.map { (2...3).contains($0.count) && $0.allSatisfy(isLetter) } ?? false
            && parts.dropFirst().allSatisfy {
                (1...8).contains($0.count) && $0.allSatisfy { isLetter($0) || (48...57).contains($0) }
            }
        guard isTag else { throw ServiceError.validation(field: "locale", "must be a language tag such as de or de-AT") }
        return text
    }

    private static let zoneRule =
        "must be an IANA time zone such as Europe/Berlin, or an offset such as +05:30, or have timezone_offset beside it"

    /// The zone that a client has sent (AU-11).
    ///
    /// - Parameters:
    ///   - name: as phones, browsers and Windows name zones (`Zone.init(sent:)`); a known one wins.
    ///   - offsetMinutes: minutes east of UTC, from older clients; used for a name that is not known, too.
    /// - Returns: nil when neither was sent. Its name is what the profile shows: not always what was sent.
    /// - Throws: `VALIDATION_ERROR` naming the field.
    package static func zone(name: String?, offsetMinutes: Int32?) throws(ServiceError) -> Zone? {
        if let zone = name.flatMap({ Zone(sent: $0) }) { return zone }
        guard let offsetMinutes else {
            guard name == nil else { throw ServiceError.validation(field: "time_zone", Self.zoneRule) }
            return nil
        }
        guard let zone = Zone(offsetMinutes: Int(offsetMinutes)) else {
            throw ServiceError.validation(field: "timezone_offset", "must be between -840 and 840")
        }
        return zone
    }
}
