internal import BlobStore
internal import Logging
internal import Replicas

/// The avatars that cards show: the one place where cards ask for them.
struct CardAvatars: Sendable {
    /// More than any avatar has; one that is larger is no reason not to make a card.
    private static let mostBytes: Int64 = 4 << 20

    let blobs: any BlobStore
    let logger: Logger

    /// The bytes of each person's avatar; nil for who has none, and for one that cannot be read.
    func bytes(of profiles: [Profile]) async -> [[UInt8]?] {
        var found: [[UInt8]?] = []
        for profile in profiles { found.append(await bytes(of: profile)) }
        return found
    }

    private func bytes(of profile: Profile) async -> [UInt8]? {
        guard !profile.avatarKey.isEmpty else { return nil }
        do {
            return try await blobs.read(try BlobKey(profile.avatarKey), limit: Self.mostBytes)
        } catch {
            logger.warning("a card is made without an avatar", metadata: ["key": "\(profile.avatarKey)", "error": "\(error)"])
            return nil
        }
    }
}
