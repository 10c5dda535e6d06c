internal import Bus
internal import CommonAPI
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import MediaDomain
internal import Replicas

/// Posts as readers see them, with links made for the reader.
struct PostViews: Sendable {
    let links: MediaLinks
    let profiles: ProfileReplica
    let clock: any Clock

    /// Posts that a reader may see.
    ///
    /// - Parameter reader: nil for a guest.
    func views(_ posts: [ShownPost], for reader: UserID?, _ context: CallContext) async throws -> [Post] {
        let authors = try await profiles.profiles(Set(posts.map(\.user)), context: context)
        return try posts.map { post in
            try view(post, by: authors[post.user]?.summary ?? .unavailable(post.user), for: reader)
        }
    }

    /// Who has written a post.
    func author(_ user: UserID, _ context: CallContext) async throws -> UserSummary {
        try await profiles.profile(user, context: context)?.summary ?? .unavailable(user)
    }

    /// A post that a reader may see.
    func view(_ post: ShownPost, by author: UserSummary, for reader: UserID?) throws -> Post {
        let viewer = reader == post.user ? nil : reader
        let (keys, now) = (PostBlobKeys(user: post.user, id: post.id), clock.now())
        let picture = try links.link(keys.displayText, for: viewer, now: now)
        let video = try post.video.map { try links.link(try keys.video($0.format).description, for: viewer, now: now) }
        return Post(
            id: post.id,
            author: author,
            type: video == nil ? "photo" : "video",
            photoURL: picture,
            thumbnailURL: try links.link(keys.thumbnailText, for: viewer, now: now),
            width: post.width,
            height: post.height,
            caption: post.caption,
            latitude: post.position.latitude,
            longitude: post.position.longitude,
            precision: post.precision.rawValue,
            geohash: Geohash(post.position, length: 6).description,
            capturedAt: post.capturedAt,
            postedAt: post.postedAt,
            up: post.votes.up,
            down: post.votes.down,
            voteCount: post.votes.count,
            myVote: post.votes.own?.rawValue,
            hidden: post.isHidden,
            city: post.city,
            country: post.country,
            countryCode: post.countryCode,
            videoURL: video,
            posterURL: video == nil ? nil : picture,
            durationMs: post.video?.milliseconds,
            reportedByMe: post.isReported
        )
    }
}

extension CallContext {
    /// Who reads posts. nil for guests: they block and vote for nothing, so they all see the same, by the same links.
    var reader: UserID? { principal.flatMap { $0.role == .guest ? nil : $0.userID } }
}
