import AuthAPI
import BlobStore
import Bus
import CommonAPI
import Database
import Foundation
import Images
import Kernel
import MediaAPI
import MediaDomain
import Outbox
import TestSupport
import Testing
import Videos
import Wire

@testable import MediaCore
@testable import MediaPlaces
@testable import MediaService
@testable import Replicas
@testable import Runtime
@testable import ServiceRuntime

/// An `auth` to which everyone exists and is called after the end of their id.
private struct Everyone: Caller {
    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context: CallContext) async throws
        -> Reply
    {
        guard let asked = request as? GetSummariesRequest else { throw ServiceError.internal }
        let profiles = asked.userIDs.map { id in
            ProfileState(
                userID: id,
                version: 1,
                username: "user\(id.low)",
                displayName: "User \(id.low)",
                timeZone: "UTC",
                status: .active,
                termsVersion: "1"
            )
        }
        guard let reply = GetSummariesReply(profiles: profiles) as? Reply else { throw ServiceError.internal }
        return reply
    }
}

/// A database of `media`, for the tests of several features.
let mediaTemplate = PostgresTemplate("media-places") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + MediaModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

/// The feature `places` with a database and a folder of blobs of its own.
struct PlaceWorld: Sendable {
    let database: Database
    let clock: ManualClock
    let blobs: LocalBlobStore
    let folder: URL
    let mutations: Mutations
    let quotas: Quotas
    let views: PostViews
    let posts: PostRepository
    let newPosts: NewPosts
    let uploads: PresignedUploads
    let maps: MapClusters

    var votes: VoteRepository { VoteRepository(database: database) }
    var lists: PostListRepository { PostListRepository(database: database) }
    var removal: RemovedPosts { RemovedPosts(posts: posts, blobs: blobs) }

    static func with<Result>(
        poolSize: Int = 8,
        quotas: Quotas = Quotas(),
        _ body: (PlaceWorld) async throws -> Result
    ) async throws -> Result {
        try await mediaTemplate.withDatabase(poolSize: poolSize, adjust: PostgresServer.patient) { database in
            let folder = FileManager.default.temporaryDirectory.appending(path: "places-tests-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            return try await body(try PlaceWorld(database, folder, quotas))
        }
    }

    /// Where videos are processed.
    var videoFolder: URL { folder.appending(path: ".videos") }

    private init(_ database: Database, _ folder: URL, _ quotas: Quotas) throws {
        let logger = PostgresServer.silence
        (self.database, self.folder, self.quotas) = (database, folder, quotas)
        clock = ManualClock(Instant(seconds: 1_764_000_000))
        blobs = LocalBlobStore(folder: folder.path, minimumFree: 0, logger: logger)
        let ids = UUIDv7Source(clock: SystemClock())
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: nil)
        mutations = Mutations(work: work, database: database)
        let secret = "a media signing key for the tests of places"
        let links = try MediaLinks(secret: secret, base: "")
        views = PostViews(
            links: links,
            profiles: ProfileReplica(database: database, bus: Everyone()),
            clock: clock
        )
        posts = PostRepository(database: database)
        maps = MapClusters(repository: ClusterRepository(database: database))
        uploads = PresignedUploads(
            uploads: UploadRepository(database: database),
            mutations: mutations,
            blobs: blobs,
            signer: SignedUpload(secret: Array(secret.utf8)),
            links: links,
            ids: ids,
            logger: logger
        )
        let videos = folder.appending(path: ".videos")
        try FileManager.default.createDirectory(at: videos, withIntermediateDirectories: true)
        newPosts = NewPosts(
            posts: posts,
            views: views,
            mutations: mutations,
            blobs: blobs,
            renditions: PostRenditions(
                blobs: blobs,
                images: ImageProcessor(queueLimit: 100, logger: logger),
                videos: VideoProcessor(folder: videos.path, atOnce: 2, queueLimit: 100, logger: logger)
            ),
            uploads: uploads,
            screening: PostScreening(moderator: nil, work: work, logger: logger),
            quotas: quotas,
            clock: clock,
            ids: ids,
            logger: logger
        )
    }

    /// The same with a moderator of pictures.
    func screened(by moderator: PictureModerator?) -> NewPosts {
        NewPosts(
            posts: posts,
            views: views,
            mutations: mutations,
            blobs: blobs,
            renditions: newPosts.renditions,
            uploads: uploads,
            screening: PostScreening(moderator: moderator, work: mutations.work, logger: PostgresServer.silence),
            quotas: quotas,
            clock: clock,
            ids: newPosts.ids,
            logger: PostgresServer.silence
        )
    }

    static func user(_ number: UInt64) -> UserID { UserID(high: 7, low: number) }
    static func post(_ number: UInt64) -> PostID { PostID(high: 9, low: number) }

    static func context(_ user: UserID?, key: String? = nil) -> CallContext {
        CallContext(
            deadline: SystemClock.now() + .minutes(1),
            principal: Principal(userID: user, role: user == nil ? .guest : .user),
            idempotencyKey: key
        )
    }

    /// A post without blobs.
    @discardableResult
    func pin(
        _ number: UInt64,
        by author: UInt64 = 1,
        at latitude: Double,
        _ longitude: Double,
        votes: (up: Int64, down: Int64) = (0, 0)
    ) async throws -> PostID {
        let request = CreatePostRequest(
            photo: CommonAPI.Blob(key: "incoming/x", sha256: "\(number)"),
            latitude: latitude,
            longitude: longitude
        )
        let (id, now) = (Self.post(number), clock.now())
        let draft = try PostDraft(request, id: id, user: Self.user(author), receivedAt: now)
        try #require(try await posts.claim(draft, until: SystemClock.now() + .minutes(1)))
        let score = PostScore.value(up: votes.up, down: votes.down, received: now)
        try await database.transaction { sql in
            try #require(try await PostRepository.show(id, RenderedPost(), sql))
            try await sql.execute(
                "UPDATE place_post SET up = \(votes.up), down = \(votes.down), score = \(score) WHERE id = \(id)"
            )
        }
        return id
    }

    @discardableResult
    func vote(_ vote: Vote?, on post: PostID, by user: UInt64, key: String? = nil) async throws -> VoteReply {
        let (context, votes) = (
            Self.context(Self.user(user), key: key), Votes(mutations: mutations, quotas: quotas, database: database)
        )
        guard let vote else {
            return try await RemovePostVote(votes: votes).handle(RemovePostVoteRequest(postID: post), context).reply
        }
        return try await VotePost(votes: votes).handle(VotePostRequest(postID: post, vote: vote.rawValue), context).reply
    }

    /// Adds every vote to its post.
    func countVotes() async throws { while try await CountedVotes(votes: votes).job.run(clock.now()) > 0 {} }

    func list(_ request: ListPostsRequest, for reader: UInt64? = 99, few: Int = 500) async throws -> ListPostsReply {
        var lists = lists
        lists.few = few
        return try await ListPosts(lists: lists, views: views).handle(request, Self.context(reader.map(Self.user)))
    }

    /// All pages of a list.
    func all(_ request: ListPostsRequest, for reader: UInt64? = 99, few: Int = 500) async throws -> [PostID] {
        var (request, found) = (request, [PostID]())
        while true {
            let page = try await list(request, for: reader, few: few)
            found += page.posts.map(\.id)
            guard let cursor = page.meta?.nextCursor else { return found }
            request.cursor = cursor
        }
    }

    func find(_ post: PostID, for reader: UInt64? = 99) async throws -> Post? {
        do {
            let handler = GetPost(posts: posts, views: views)
            return try await handler.handle(GetPostRequest(postID: post), Self.context(reader.map(Self.user))).post
        } catch let error as ServiceError where error.code == .notFound { return nil }
    }

    func remove(_ post: PostID, by user: UInt64 = 1) async throws {
        _ = try await DeletePost(mutations: mutations).handle(
            DeletePostRequest(postID: post),
            Self.context(Self.user(user))
        )
    }

    func block(_ blocker: UInt64, _ blocked: UInt64) async throws {
        try await database.execute(
            """
            INSERT INTO block_replica (block_id, version, blocker, blocked, active)
            VALUES (\(BlockID(high: blocker, low: blocked)), 1, \(Self.user(blocker)), \(Self.user(blocked)), true)
            """
        )
    }

    /// The account is back.
    func release(_ user: UInt64) async throws {
        try await database.execute("UPDATE photo_owner SET is_withheld = false WHERE user_id = \(Self.user(user))")
    }

    /// As the profile of a suspended or deleted user does.
    func withhold(_ user: UInt64) async throws {
        try await database.execute(
            """
            INSERT INTO photo_owner (user_id, version, is_withheld) VALUES (\(Self.user(user)), 1, true)
            ON CONFLICT (user_id) DO UPDATE SET is_withheld = true
            """
        )
    }

    func count(_ table: Query) async throws -> Int64? {
        try await database.query("SELECT count(*) FROM \(table)").first?.decode(as: Int64.self)
    }
}

extension RenderedPost {
    /// Of a post without files.
    init() { self.init(width: 4, height: 3, screened: PostScreening.Outcome(event: nil), fileBytes: 0) }
}
