public import Bus
public import Kernel

/// A session that ended before its access tokens expire (AU-3).
public struct Revocation: Sendable, Hashable {
    /// The session.
    public let session: SessionID
    /// When it ended, by the product clock.
    public let revokedAt: Instant

    /// A session that ended at an instant.
    public init(session: SessionID, revokedAt: Instant) {
        self.session = session
        self.revokedAt = revokedAt
    }
}

/// The stream by which `auth` reports ended sessions to every gateway (AU-3): one message on `revoked.<session>` for each.
///
/// A gateway reads it without any service, so that an ended session is refused also while `auth` is away.
public enum RevocationStream {
    /// Its name on the broker.
    public static let name = "REVOKED"

    /// What a gateway subscribes to, and what only `auth` may publish.
    public static let subjects = "revoked.>"

    /// How long a revocation is kept by the machine's clock: longer than an access token is valid (15 min), with room for clocks that
    /// differ. With the development clock a token may outlive it, while services are on different days.
    public static let lifetime = Interval.minutes(20)

    /// What the broker must have.
    ///
    /// - Parameter replicas: brokers of a cluster that store it: 1, 3 or 5.
    public static func configuration(replicas: Int = 1) -> StreamConfiguration {
        StreamConfiguration(name: name, subjects: [subjects], maxAge: lifetime, replicas: replicas)
    }

    /// The message of a revocation.
    public static func message(_ revocation: Revocation) -> OutgoingEvent {
        OutgoingEvent(
            subject: "revoked.\(revocation.session)",
            messageID: nil,
            body: Array(revocation.revokedAt.description.utf8)
        )
    }

    /// The revocation of a message; nil for a message that is none.
    public static func revocation(subject: String, body: [UInt8]) -> Revocation? {
        let parts = subject.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "revoked", let session = SessionID(parts[1]),
            let revokedAt = Instant(rfc3339: String(decoding: body, as: UTF8.self))
        else { return nil }
        return Revocation(session: session, revokedAt: revokedAt)
    }
}
