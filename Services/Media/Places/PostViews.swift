internal import Bus
internal import CommonAPI
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import MediaDomain
internal import Replicas
internal import Videos

/// Posts as readers see them, with links made for the reader.
struct PostViews: Sendable {
    let links: MediaLinks
    let profiles: ProfileReplica
    let clock: any Clock
    /// Some 1 kB each.
    private let made = RecentlyUsed<LinkedPost, PostLinks>(capacity: 10_000)

    /// A post, for whom and how long its links are made.
    private struct LinkedPost: Hashable {
        let post: PostID
        let viewer: UserID?
        let video: StoredVideoFormat?
        let expires: Instant
    }

    /// The links to a post's files.
    private struct PostLinks {
        let picture: String
        let thumbnail: String
        let video: String?
    }

    init(links: MediaLinks, profiles: ProfileReplica, clock: any Clock) {
        (self.links, self.profiles, self.clock) = (links, profiles, clock)
    }

    /// Posts that a reader may see.
    ///
    /// - Parameters:
    ///   - reader: nil for a guest.
    ///   - viewer: whom links are made for in the reader's place; nil: the reader.
    func views(_ posts: [ShownPost], for reader: UserID?, viewer: UserID? = nil, _ context: CallContext) async throws -> [Post] {
        let unknown = try await profiles.profiles(Set(posts.filter { $0.author == nil }.map(\.user)), context: context)
        return zip(posts, try links(of: posts, for: reader, viewer: viewer)).map { post, links in
            let author = post.author.map { profiles.summary($0, of: post.user) } ?? unknown[post.user]?.summary
            return view(post, by: author ?? .unavailable(post.user), links)
        }
    }

    /// Who has written a post.
    func author(_ user: UserID, _ context: CallContext) async throws -> UserSummary {
        try await profiles.profile(user, context: context)?.summary ?? .unavailable(user)
    }

    /// A post that a reader may see.
    func view(_ post: ShownPost, by author: UserSummary, for reader: UserID?) throws -> Post {
        view(post, by: author, try links(of: [post], for: reader)[0])
    }

    /// Links for a reader, those of a page looked up at once.
    private func links(of posts: [ShownPost], for reader: UserID?, viewer: UserID? = nil) throws -> [PostLinks] {
        let end = MediaLinks.end(now: clock.now())
        let linked = posts.map { post in
            // A hidden post's pictures are closed; by a link of their own its author sees them.
            let named = reader == post.user && !post.isHidden ? nil : reader
            return LinkedPost(post: post.id, viewer: viewer ?? named, video: post.video?.format, expires: end)
        }
        let known = made.values(of: linked)
        return try posts.indices.map { index in
            if let known = known[index] { return known }
            let links = try makeLinks(linked[index], of: posts[index].user)
            made[linked[index]] = links
            return links
        }
    }

    private func makeLinks(_ linked: LinkedPost, of user: UserID) throws -> PostLinks {
        let keys = PostBlobKeys(user: user, id: linked.post)
        func link(_ key: String) throws -> String { try links.link(key, for: linked.viewer, expires: linked.expires) }
        return PostLinks(
            picture: try link(keys.displayText),
            thumbnail: try link(keys.thumbnailText),
            video: try linked.video.map { try link(try keys.video($0).description) }
        )
    }

    private func view(_ post: ShownPost, by author: UserSummary, _ links: PostLinks) -> Post {
        Post(
            id: post.id,
            author: author,
            type: links.video == nil ? "photo" : "video",
            photoURL: links.picture,
            thumbnailURL: links.thumbnail,
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
            videoURL: links.video,
            posterURL: links.video == nil ? nil : links.picture,
            durationMs: post.video?.milliseconds,
            reportedByMe: post.isReported
        )
    }
}

extension CallContext {
    /// Who reads posts. nil for guests: they block and vote for nothing, so they all see the same, by the same links.
    var reader: UserID? { principal.flatMap { $0.role == .guest ? nil : $0.userID } }
}
