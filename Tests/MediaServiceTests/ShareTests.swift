import BlobStore
import Bus
import Database
import Foundation
import Images
import Kernel
import MediaAPI
import Outbox
import SocialAPI
import Synchronization
import TestSupport
import Testing
import Wire

@testable import MediaCards
@testable import MediaCore
@testable import MediaService
@testable import Replicas
@testable import Runtime
@testable import ServiceRuntime

/// A `social` to which the two of a card are friends; counts how often it was asked.
private final class Friends: Caller {
    private let asked = Atomic(0)
    var count: Int { asked.load(ordering: .relaxed) }

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context: CallContext) async throws
        -> Reply
    {
        asked.add(1, ordering: .relaxed)
        guard request is FindFriendshipRequest,
            let reply = FindFriendshipReply(friendshipID: FriendshipID(high: 1, low: 1)) as? Reply
        else { throw ServiceError.internal }
        return reply
    }
}

/// A folder of blobs that counts how often each is stored. Nothing is stored before `isOpen`.
private final class CountingStore: BlobStore {
    private let store: LocalBlobStore
    private let puts = Mutex<[BlobKey: Int]>([:])
    private let infos = Atomic(0)
    private let isOpen = Atomic(false)

    init(_ store: LocalBlobStore) { self.store = store }

    var lookups: Int { infos.load(ordering: .relaxed) }
    func count(_ key: BlobKey) -> Int { puts.withLock { $0[key] ?? 0 } }
    func open() { isOpen.store(true, ordering: .relaxed) }

    func put<Chunks: AsyncSequence & Sendable>(_ key: BlobKey, from chunks: Chunks, limit: Int64) async throws -> StoredBlob
    where Chunks.Element: Collection<UInt8> {
        puts.withLock { $0[key, default: 0] += 1 }
        try await eventually("the test lets it store") { isOpen.load(ordering: .relaxed) }
        return try await store.put(key, from: chunks, limit: limit)
    }

    func info(of key: BlobKey) async throws -> BlobInfo? {
        defer { infos.add(1, ordering: .relaxed) }
        return try await store.info(of: key)
    }

    func get(_ key: BlobKey, range: Range<Int64>?) async throws -> Blob { try await store.get(key, range: range) }
    func read(_ key: BlobKey, limit: Int64) async throws -> [UInt8] { try await store.read(key, limit: limit) }
    func delete(_ key: BlobKey) async throws { try await store.delete(key) }
    func copy(_ source: BlobKey, to destination: BlobKey) async throws { try await store.copy(source, to: destination) }
    func move(_ source: BlobKey, to destination: BlobKey) async throws { try await store.move(source, to: destination) }
    func list(prefix: String, after: BlobKey?, limit: Int) async throws -> [BlobInfo] {
        try await store.list(prefix: prefix, after: after, limit: limit)
    }
}

private let template = PostgresTemplate("media") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + MediaModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

/// Sharing a card and withdrawing its page happen once for an idempotency key (D12, MC-2).
@Suite(.timeLimit(.minutes(2))) struct ShareTests {
    private struct World {
        let database: Database
        let bus: Friends
        let clock: ManualClock
        let share: MarkMilestoneShared
        let revoke: RevokeMilestoneShare
        let cards: MilestoneCards
        let blobs: CountingStore

        /// The token of the card's page; nil without one.
        func token() async throws -> String? {
            try await database.query("SELECT token FROM milestone_card").first?.decode(as: String?.self)
        }

        func share(_ key: String?) async throws -> MarkMilestoneSharedReply {
            let request = MarkMilestoneSharedRequest(milestoneID: ShareTests.card, platform: "link")
            return try await share.handle(request, ShareTests.context(key)).reply
        }

        func revoke(_ key: String?) async throws {
            _ = try await revoke.handle(RevokeMilestoneShareRequest(milestoneID: ShareTests.card), ShareTests.context(key))
        }
    }

    private static let card = MilestoneCardID(high: 5, low: 5)
    private static let (ann, ben) = (UserID(high: 1, low: 1), UserID(high: 1, low: 2))

    private static func context(_ key: String?) -> CallContext {
        CallContext(
            deadline: SystemClock.now() + .minutes(2),
            principal: Principal(userID: ann, role: .user),
            idempotencyKey: key
        )
    }

    private func withCard(_ body: (World) async throws -> Void) async throws {
        try await template.withDatabase(poolSize: 4, adjust: PostgresServer.patient) { database in
            let clock = ManualClock(Instant(seconds: 1_700_000_000))
            let bus = Friends()
            let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
            let mutations = Mutations(work: work, database: database)
            let logger = PostgresServer.silence
            let folder = FileManager.default.temporaryDirectory.appending(path: "share-tests-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let blobs = CountingStore(LocalBlobStore(folder: folder.path, logger: logger))
            let cards = MilestoneCards(
                repository: CardRepository(database: database),
                painter: PosterPainter(logger: logger),
                avatars: CardAvatars(blobs: blobs, logger: logger),
                blobs: blobs,
                clock: clock,
                logger: logger
            )
            let shared = SharedCards(
                cards: cards,
                profiles: ProfileReplica(database: database, bus: bus),
                friends: FriendsClient(bus),
                circles: CirclesClient(bus),
                links: try MediaLinks(secret: "a media signing key for the tests of shares", base: ""),
                clock: clock
            )
            try await database.execute(
                """
                INSERT INTO milestone_card (id, streak_id, milestone, style, first_day, last_day, first_user, second_user, blob_key, state,
                    lease_until, created_at)
                VALUES (\(Self.card), \(StreakID(high: 3, low: 3)), 7, 1, '2026-01-01', '2026-01-07', \(Self.ann), \(Self.ben), 'cards/x.png',
                    1, \(clock.now()), \(clock.now()))
                """
            )
            try await body(
                World(
                    database: database,
                    bus: bus,
                    clock: clock,
                    share: MarkMilestoneShared(cards: shared, mutations: mutations),
                    revoke: RevokeMilestoneShare(mutations: mutations),
                    cards: cards,
                    blobs: blobs
                )
            )
        }
    }

    @Test func `a repeat of a share gets the first answer, and opens no page that was withdrawn since`() async throws {
        try await withCard { world in
            let first = try await world.share("share")
            #expect(first.shareURL != nil && first.sharedAt == world.clock.now())
            try await world.revoke(nil)
            #expect(try await world.token() == nil)
            world.clock.advance(by: .minutes(1))
            #expect(try await world.share("share") == first)
            #expect(try await world.token() == nil, "the page stays withdrawn")
            #expect(world.bus.count == 1)
            let second = try await world.share("another key")
            #expect(second.shareURL != nil && second.shareURL != first.shareURL && second.sharedAt == world.clock.now())
        }
    }

    @Test func `a repeat of a withdrawal does not withdraw a page that was shared since`() async throws {
        try await withCard { world in
            _ = try await world.share(nil)
            try await world.revoke("revoke")
            #expect(try await world.token() == nil)
            _ = try await world.share(nil)
            try await world.revoke("revoke")
            #expect(try await world.token() != nil)
            try await world.revoke("another key")
            #expect(try await world.token() == nil)
        }
    }

    @Test func `eight who ask for a preview at once get one picture, painted once, also when the first gives up`() async throws {
        try await withCard { world in
            let card = try #require(try await world.cards.repository.find(Self.card))
            let profiles = [Self.ann, Self.ben].map {
                Profile(
                    userID: $0,
                    username: "u",
                    displayName: "U",
                    avatarKey: "",
                    avatarURL: nil,
                    zone: .utc,
                    zoneSince: .epoch,
                    status: .active,
                    termsVersion: "",
                    windowStartHour: 10
                )
            }
            let asking = (0..<8).map { _ in Task { try await world.cards.preview(of: card, profiles) } }
            let key = try BlobKey(card.previewKey)
            // Each has looked for it, and the painter of it once more.
            try await eventually("all have found none") { world.blobs.lookups == 9 && world.blobs.count(key) == 1 }
            asking[0].cancel()
            await #expect(throws: CancellationError.self) { try await asking[0].value }
            world.blobs.open()
            for task in asking.dropFirst() { #expect(try await task.value == key) }
            #expect(try await world.cards.preview(of: card, profiles) == key, "and one who asks later")
            #expect(world.blobs.count(key) == 1)
            #expect(try await world.blobs.read(key, limit: 1 << 24).starts(with: [0x89, 0x50, 0x4E, 0x47]))
        }
    }
}
