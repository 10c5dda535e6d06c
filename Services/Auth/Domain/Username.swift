public import Kernel

/// Usernames: 3–30 of `[a-z0-9_.]`, unique (AU-1).
public enum Username {
    /// The longest username in characters.
    public static let longest = 30
    /// The shortest.
    public static let shortest = 3

    /// How long after a change the next one must wait (AU-10).
    public static let changeInterval = Interval.days(14)

    /// Names that speak for the service or its staff, and addresses that must reach it: no user may have them, however they are punctuated.
    private static let reserved: Set = [
        "abuse", "account", "accounts", "admin", "administrator", "all", "anonymous", "api", "auth", "billing", "bot",
        "contact", "deleted", "everyone", "guest", "help", "helpdesk", "here", "hostmaster", "info", "legal", "login",
        "mail", "me", "mod", "moderation", "moderator", "news", "noreply", "notifications", "null", "official", "operator",
        "owner", "payments", "postmaster", "press", "privacy", "register", "root", "safety", "security", "service",
        "settings", "signup", "staff", "streaksnap", "streaksnapofficial", "streaksnapsupport", "streaksnapteam",
        "superuser", "support", "sysadmin", "system", "team", "terms", "trust", "undefined", "unknown", "user", "users",
        "verified", "verify", "webmaster", "www",
    ]

    /// Whether the name is one that no user may choose: `ad.min_` as little as `admin`.
    public static func isReserved(_ name: String) -> Bool {
        let letters = name.filter { $0 != "." && $0 != "_" }
        return letters.isEmpty || reserved.contains(letters)
    }

    /// Whether the name is well-formed.
    public static func isValid(_ name: String) -> Bool {
        (shortest...longest).contains(name.utf8.count)
            && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 || $0 == 46 }
    }

    /// When a name that was last changed at `changedAt` may change again; nil when it may now. The name chosen at the registration does
    /// not count as a change.
    public static func changeableAt(changedAt: Instant?, now: Instant) -> Instant? {
        guard let next = changedAt.map({ $0 + changeInterval }), next > now else { return nil }
        return next
    }

    /// A username made from an e-mail's local part when none was given; `attempt` 0 is the plain one, later ones carry a number that
    /// makes a collision unlikely.
    ///
    /// - Parameters:
    ///   - attempt: how many were taken already.
    ///   - salt: any number; decides the suffix of later attempts.
    public static func proposal(email: String, attempt: Int, salt: UInt64) -> String {
        var base = email.prefix { $0 != "@" }.lowercased().filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".")
        }
        // Cut first: what is left of a long name may be one that is reserved.
        base = String(base.prefix(longest))
        if base.count < shortest || isReserved(base) { base = String(("user_" + base).prefix(longest)) }
        if isReserved(base) { base = String(base.prefix(longest - 1)) + "1" }
        guard attempt > 0 else { return base }
        // Wider suffixes at each attempt: the first stays short and readable, the last cannot collide in practice.
        let suffix = String(salt % power(of: 10, min(18, 2 + 2 * attempt)))
        return String(base.prefix(longest - 1 - suffix.count)) + "_" + suffix
    }

    private static func power(of base: UInt64, _ exponent: Int) -> UInt64 {
        (0..<exponent).reduce(1) { product, _ in product * base }
    }
}
