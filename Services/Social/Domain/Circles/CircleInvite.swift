public import Kernel

/// A code by which users join a circle: limited in uses and time, revocable (SO-10).
public struct CircleInvite: Hashable, Sendable {
    /// Most valid invites of a circle at a time.
    public static let limit = 10
    /// How many uses one has, and how long it is valid, when its maker does not say.
    public static let standardUses: Int32 = 50
    public static let standardHours: Int32 = 168
    /// How long one can be valid, in hours.
    public static let longestHours: Int32 = 720

    public let code: String
    public let maxUses: Int32
    public private(set) var uses: Int32
    public let expiresAt: Instant
    public let isRevoked: Bool

    /// An invite as stored.
    public init(code: String, maxUses: Int32, uses: Int32, expiresAt: Instant, isRevoked: Bool) {
        (self.code, self.maxUses, self.uses) = (code, maxUses, uses)
        (self.expiresAt, self.isRevoked) = (expiresAt, isRevoked)
    }

    /// Whether users can join by it.
    public func isValid(at now: Instant) -> Bool { !isRevoked && now < expiresAt && uses < maxUses }

    /// A user joins by it.
    ///
    /// - Throws: `INVITE_NOT_VALID`, which does not say why.
    public mutating func use(at now: Instant) throws(ServiceError) {
        guard isValid(at: now) else { throw Self.notValid }
        uses += 1
    }

    /// The answer to every code that leads nowhere: unknown, used up, over, revoked or closed to the user.
    public static let notValid = ServiceError(
        .notFound,
        "INVITE_NOT_VALID",
        "This invite is not valid, or not any more. Ask for a new one."
    )
}

/// The text of a code: 10 letters and digits of 32, 50 random bits. Without I, L, O and U, so that none looks like another (Crockford).
public enum InviteCode {
    static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    /// Characters of a code.
    public static let length = 10

    /// The code of 50 bits.
    public static func make(from bits: UInt64) -> String {
        String((0..<length).map { alphabet[Int(bits >> UInt64($0 * 5) & 31)] })
    }

    /// A code as it is stored, from what a user has typed or a link has; nil for what cannot be one.
    public static func normalized(_ text: String) -> String? {
        var code = ""
        for character in text.uppercased() where character != "-" && character != " " {
            let known: Character =
                switch character {
                case "O": "0"
                case "I", "L": "1"
                default: character
                }
            guard alphabet.contains(known) else { return nil }
            code.append(known)
            guard code.count <= length else { return nil }
        }
        return code.count == length ? code : nil
    }
}
