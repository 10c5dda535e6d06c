internal import BlobConfiguration
package import BlobStore
package import Kernel
internal import Replicas
package import Runtime

/// Signed links to stored photos (PH-2), and unsigned ones to avatars.
package struct MediaLinks: Sendable {
    /// How long a link lives, or up to `step` less.
    package static let lifetime = Interval.hours(24)
    /// Links end at multiples of this: those made within it are the same, so that an app that loads its feed again finds the pictures in its cache.
    static let step = Interval.minutes(15)

    private let signed: BlobLinks
    private let avatars: AvatarLinks
    /// Some 500 B each.
    private let made = RecentlyUsed<Subject, String>(capacity: 20_000)

    /// What a link says.
    private struct Subject: Hashable {
        let key: String
        let viewer: UserID?
        let expires: Instant
    }

    /// Links under one address.
    ///
    /// - Parameter base: the public address before `/media/…`; empty for relative links.
    /// - Throws: `Settings.Invalid` for a secret below 32 characters.
    package init(secret: String, base: String) throws {
        signed = try BlobLinks(secret: secret, base: base)
        avatars = AvatarLinks(base: base)
    }

    /// From the settings of the service.
    ///
    /// - Throws: `Settings.Invalid`.
    package init(_ settings: Settings) throws {
        try self.init(secret: try settings.get(BlobSettings.signingKey), base: try settings.get(LinkSettings.publicURL))
    }

    /// A link to a photo.
    ///
    /// - Parameter viewer: whom it is for, when that is not the owner.
    package func link(_ key: String, for viewer: UserID? = nil, now: Instant) throws -> String {
        let subject = Subject(key: key, viewer: viewer, expires: Self.end(now: now))
        if let link = made[subject] { return link }
        let link = try link(key, for: viewer, expires: subject.expires)
        made[subject] = link
        return link
    }

    /// A link that is not kept, for those who keep theirs.
    ///
    /// - Parameter expires: as `end` says.
    package func link(_ key: String, for viewer: UserID?, expires: Instant) throws -> String {
        signed.link(try BlobKey(key), for: viewer, expires: expires)
    }

    /// When links end that are made now.
    package static func end(now: Instant) -> Instant {
        let end = now + lifetime
        return Instant(seconds: end.seconds - end.seconds % step.seconds)
    }

    /// A path of the public address.
    package func address(_ path: String) -> String { signed.address(path) }

    /// The link to one of an avatar's renditions.
    package func avatar(_ key: BlobKey) -> String { avatars.url(key.description) ?? "" }
}
