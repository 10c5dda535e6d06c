internal import BlobStore
internal import Bus
internal import Images
internal import Kernel
internal import Logging
internal import MediaAPI
internal import MediaCore
internal import Outbox
internal import ServiceRuntime
internal import WorkPool

/// Pictures of users: recorded → stored → shown and emitted, in this order (D6). A job deletes what does not come to its end.
struct Avatars: Sendable {
    /// How long a picture may take to be shown; far longer than any request.
    private static let timeout = Interval.hours(1)
    /// How long a replaced picture can still be fetched: until the last list with its link is out of every cache.
    private static let gracePeriod = Interval.seconds(60)
    /// More than any rendition has.
    private static let mostBytes: Int64 = 4 << 20

    let repository: AvatarRepository
    let mutations: Mutations
    let blobs: any BlobStore
    let images: ImageProcessor
    let links: MediaLinks
    let ids: any IDSource
    let logger: Logger

    /// Makes the renditions of an upload and shows them in place of what was shown.
    func replace(
        by bytes: [UInt8],
        of user: UserID,
        _ request: UploadAvatarRequest,
        _ context: CallContext
    ) async throws -> Once<UploadAvatarReply> {
        let made = try await images.avatar(of: bytes, for: WorkShare(of: user))
        let avatar = Avatar(id: ids.make(), user: user)
        try await repository.begin(avatar, deadline: SystemClock.now() + Self.timeout)
        do {
            _ = try await blobs.put(try avatar.large, made.large)
            _ = try await blobs.put(try avatar.small, made.small)
            let once = try await show(avatar, request, context)
            // The answer of an earlier request with this key (PF-4): its picture is the one.
            if once.reply.avatarURL != links.avatar(try avatar.large) { await giveUp(avatar) }
            return once
        } catch {
            await giveUp(avatar)
            throw error
        }
    }

    private func show(_ avatar: Avatar, _ request: UploadAvatarRequest, _ context: CallContext) async throws
        -> Once<UploadAvatarReply>
    {
        let reply = UploadAvatarReply(avatarURL: links.avatar(try avatar.large), thumbnailURL: links.avatar(try avatar.small))
        return try await mutations.once(context, request.withoutKeys(of: \.avatar)) { [repository] work in
            let retireAt = SystemClock.now() + Self.gracePeriod
            guard let version = try await repository.show(avatar, retireAt: retireAt, work.sql) else {
                throw ServiceError.unavailable("The picture took too long to store.")
            }
            try await work.emit(
                AvatarChanged(userID: avatar.user, version: version, avatarKey: try avatar.large.description)
            )
            return reply
        }
    }

    /// Shows none any more.
    func remove(of user: UserID, _ request: RemoveAvatarRequest, _ context: CallContext) async throws -> Once<RemoveAvatarReply> {
        try await mutations.once(context, request) { [repository] work in
            if let version = try await repository.remove(of: user, now: SystemClock.now(), work.sql) {
                try await work.emit(AvatarChanged(userID: user, version: version, avatarKey: ""))
            }
            return RemoveAvatarReply()
        }
    }

    /// Gives the picture that a user shows a new link; the one before dies.
    func move(of user: UserID, _ work: UnitOfWorkFactory) async throws {
        guard let shown = try await repository.shown(of: user) else { return }
        let moved = Avatar(id: ids.make(), user: user)
        try await repository.begin(moved, deadline: SystemClock.now() + Self.timeout)
        do {
            for (old, new) in zip(try shown.keys, try moved.keys) {
                _ = try await blobs.put(new, try await blobs.read(old, limit: Self.mostBytes))
            }
            let isMoved = try await work.run(trace: "", requestID: "") { [repository] work in
                // Another picture since then has a link that is new.
                guard try await repository.lockShown(of: user, work.sql)?.id == shown.id,
                    let version = try await repository.show(moved, retireAt: SystemClock.now(), work.sql)
                else { return false }
                try await work.emit(AvatarChanged(userID: user, version: version, avatarKey: try moved.large.description))
                return true
            }
            if !isMoved { await giveUp(moved) }
        } catch {
            await giveUp(moved)
            // The picture may have been replaced and deleted while it was read.
            if try await repository.shown(of: user)?.id == shown.id { throw error }
        }
    }

    private func giveUp(_ avatar: Avatar) async {
        do { try await repository.giveUp(avatar, now: SystemClock.now()) } catch {
            logger.warning("a picture is given up later", metadata: ["avatar": "\(avatar.id)", "error": "\(error)"])
        }
    }
}
