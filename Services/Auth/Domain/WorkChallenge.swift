public import Kernel

/// A challenge of proof of work: before something that costs others a client tries some 2 to the power of `bits` hashes, and the
/// service computes one.
///
/// Nothing is stored of a challenge: its text says everything, under a code of the service's.
public struct WorkChallenge: Hashable, Sendable {
    /// How long a solution is taken.
    public static let lifetime = Interval.minutes(5)
    /// The zero bits that an operator may ask for: 24 keep a phone busy for some of the five minutes.
    public static let difficulty = 8...24

    /// Zero bits that the hash must begin with.
    public let bits: Int
    /// Until when a solution is taken, in whole seconds.
    public let expiresAt: Instant
    /// What no other challenge has.
    public let id: String

    /// A new challenge.
    ///
    /// - Parameter id: without a full stop.
    public init(bits: Int, id: String, now: Instant) {
        (self.bits, self.id, expiresAt) = (bits, id, Instant(seconds: (now + Self.lifetime).seconds))
    }

    /// The challenge of a text; nil for any other text.
    public init?(text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bits = Int(parts[0]), Self.difficulty.contains(bits), let seconds = Int64(parts[1]),
            !parts[2].isEmpty
        else { return nil }
        (self.bits, id, expiresAt) = (bits, String(parts[2]), Instant(seconds: seconds))
    }

    /// Bits, seconds since 1970 and id: `18.1767225900.AAECAwQFBgcICQoLDA0ODw`.
    public var text: String { "\(bits).\(expiresAt.seconds).\(id)" }

    /// Whether a hash that the client has found solves it at `now`.
    public func isSolved(by hash: some Sequence<UInt8>, now: Instant) -> Bool {
        now < expiresAt && Self.zeroBits(hash) >= bits
    }

    /// The zero bits that bytes begin with.
    public static func zeroBits(_ bytes: some Sequence<UInt8>) -> Int {
        var count = 0
        for byte in bytes {
            count += byte.leadingZeroBitCount
            if byte != 0 { break }
        }
        return count
    }
}

extension ServiceError {
    /// The installation asks for a challenge, and the request has no solution of one.
    public static let challengeRequired = ServiceError(
        .permissionDenied,
        "CHALLENGE_REQUIRED",
        "Solve a challenge first: GET /api/auth/challenge says which, and how to send what solves it.",
        details: [.init(field: "solution", message: "is required")]
    )

    /// It solves nothing, comes too late or from another network, or was used before.
    public static let challengeFailed = ServiceError(
        .permissionDenied,
        "CHALLENGE_FAILED",
        "This solves no challenge, came too late or from another network, or was used before. Ask for another challenge.",
        details: [.init(field: "solution", message: "is wrong, too old, or was used before")]
    )
}
