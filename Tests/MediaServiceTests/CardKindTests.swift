import AuthAPI
import BlobStore
import Bus
import Database
import Foundation
import Images
import Kernel
import MediaAPI
import MediaDomain
import SocialAPI
import StreaksAPI
import Synchronization
import TestSupport
import Testing
import Wire

@testable import MediaCards
@testable import MediaCore
@testable import MediaService
@testable import Outbox
@testable import Replicas
@testable import Runtime
@testable import ServiceRuntime

private typealias Style = MediaDomain.CardStyle

/// `streaks` and `social`, as far as cards ask them: what a card says, and who is in the circle.
private final class Neighbours: Caller {
    struct State {
        var facts = GetMilestoneFactsReply()
        var circle: CircleState?
    }

    let state = Mutex(State())

    func call<Request: Message, Reply: Message>(_: Method<Request, Reply>, _ request: Request, context _: CallContext)
        async throws
        -> Reply
    {
        let answer: any Message
        switch request {
        case is GetMilestoneFactsRequest: answer = state.withLock(\.facts)
        case is ListCircleSnapshotsRequest:
            answer = ListCircleSnapshotsReply(circles: [state.withLock(\.circle)].compactMap(\.self))
        default: throw ServiceError.internal
        }
        guard let reply = answer as? Reply else { throw ServiceError.internal }
        return reply
    }
}

private let template = PostgresTemplate("media_card_kinds") { database in
    for set in [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)]
        + MediaModule.migrations
    {
        try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database)
    }
}

/// Cards about streaks of one person and of circles: their people, their words and the end of their pages (MC-1, MC-2).
@Suite(.timeLimit(.minutes(2))) struct CardKindTests {
    private static let (ann, ben) = (UserID(high: 1, low: 1), UserID(high: 1, low: 2))
    private static let (streak, circle) = (StreakID(high: 3, low: 3), CircleID(high: 4, low: 4))

    private struct World {
        let database: Database
        let work: UnitOfWorkFactory
        let mutations: Mutations
        let neighbours: Neighbours
        let shared: SharedCards
        let blocks: BlockReplica
        var cards: MilestoneCards { shared.cards }

        func by(_ user: UserID) -> CallContext {
            CallContext(deadline: SystemClock.now() + .minutes(2), principal: Principal(userID: user, role: .user))
        }

        func generate(_ user: UserID, _ style: MediaAPI.CardStyle = .unspecified) async throws -> GenerateMilestoneCardReply {
            let handler = GenerateMilestoneCard(
                cards: shared,
                blocks: blocks,
                streaks: ProgressClient(neighbours),
                mutations: mutations
            )
            let request = GenerateMilestoneCardRequest(streakID: CardKindTests.streak, style: style)
            return try await handler.handle(request, by(user)).reply
        }

        func share(_ card: MilestoneCardID, by user: UserID) async throws -> MarkMilestoneSharedReply {
            try await MarkMilestoneShared(cards: shared, mutations: mutations)
                .handle(MarkMilestoneSharedRequest(milestoneID: card, platform: "link"), by(user)).reply
        }

        /// The public page; nil when nothing is shown.
        func page(_ address: String?) async throws -> String? {
            let token = try #require(address?.split(separator: "/").last.map(String.init))
            let handler = GetSharePage(cards: cards, profiles: shared.profiles, blocks: blocks, links: shared.links)
            let reply = try await handler.handle(GetSharePageRequest(token: token), by(CardKindTests.ann))
            return reply.status == 404 ? nil : reply.html
        }

        func consume(_ event: any Event, by handlers: [EventHandler]) async throws {
            let body = try event.serialized()
            for handler in handlers where handler.subject == type(of: event).subject {
                try await work.run(trace: "", requestID: "") { work in
                    let stored = StoredEvent(
                        id: work.ids.make(),
                        aggregate: "",
                        subject: handler.subject,
                        trace: "",
                        requestID: "",
                        body: body
                    )
                    try await handler.handle(stored, work)
                }
            }
        }

        /// The circle has other members, or is gone; `social` knows it, and media consumes it.
        func setCircle(_ version: Int64, _ members: [UserID]) async throws {
            let state = CircleState(
                circleID: CardKindTests.circle,
                version: version,
                name: members.isEmpty ? "" : "Runners",
                deleted: members.isEmpty,
                members: members.map { CircleStateMember(userID: $0, role: .member, joinedAt: work.now()) }
            )
            neighbours.state.withLock { $0.circle = state }
            try await consume(
                CircleChanged(circleID: CardKindTests.circle, circle: state, change: .updated),
                by: PageConsumers.all
            )
        }
    }

    private func withCards(_ body: (World) async throws -> Void) async throws {
        try await template.withDatabase(poolSize: 4, adjust: PostgresServer.patient) { database in
            let clock = ManualClock(Instant(seconds: 1_700_000_000))
            let neighbours = Neighbours()
            let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
            let logger = PostgresServer.silence
            let folder = FileManager.default.temporaryDirectory.appending(path: "card-tests-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let blobs = LocalBlobStore(folder: folder.path, logger: logger)
            let shared = SharedCards(
                cards: MilestoneCards(
                    repository: CardRepository(database: database),
                    painter: PosterPainter(logger: logger),
                    avatars: CardAvatars(blobs: blobs, logger: logger),
                    blobs: blobs,
                    clock: clock,
                    logger: logger
                ),
                profiles: ProfileReplica(database: database, bus: neighbours),
                friends: FriendsClient(neighbours),
                circles: CirclesClient(neighbours),
                links: try MediaLinks(secret: "a media signing key for the tests of cards", base: ""),
                clock: clock
            )
            let world = World(
                database: database,
                work: work,
                mutations: Mutations(work: work, database: database),
                neighbours: neighbours,
                shared: shared,
                blocks: BlockReplica(database: database, bus: neighbours)
            )
            for (user, name) in [(Self.ann, "Ann"), (Self.ben, "Ben")] {
                let state = ProfileState(
                    userID: user,
                    version: 1,
                    username: name.lowercased(),
                    displayName: name,
                    timeZone: "UTC",
                    status: .active,
                    timeZoneSince: clock.now()
                )
                try await world.consume(ProfileChanged(userID: user, profile: state), by: [shared.profiles.handler()])
            }
            try await body(world)
        }
    }

    private func facts(_ emoji: String, _ subject: String, _ title: String, _ style: String, circle: CircleID? = nil)
        -> GetMilestoneFactsReply
    {
        GetMilestoneFactsReply(
            isMember: true,
            isReached: true,
            milestone: 7,
            currentCount: 9,
            fromDate: CalendarDate(dayNumber: 20_456),
            toDate: CalendarDate(dayNumber: 20_462),
            emoji: emoji,
            subject: subject,
            title: title,
            style: style,
            circleID: circle
        )
    }

    @Test func `one's own streak is a card of one, in the style of its kind unless another is asked for`() async throws {
        try await withCards { world in
            let facts = facts("🥗", "Healthy Habits", "Week Warrior", "green")
            world.neighbours.state.withLock { $0.facts = facts }
            let card = try await world.generate(Self.ann)
            #expect(card.style == .green && card.milestone == 7)
            #expect(try await world.generate(Self.ann).milestoneID == card.milestoneID, "made once")
            #expect(try await world.generate(Self.ann, .dark).milestoneID != card.milestoneID)
            let stored = try #require(try await world.cards.repository.find(card.milestoneID))
            #expect(stored.people == [Self.ann] && stored.blobKey == "cards/\(Self.ann)/\(card.milestoneID).png")
            let page = try #require(try await world.page(card.shareURL))
            #expect(page.contains("🥗 7-day streak: Ann, Healthy Habits") && page.contains("Healthy Habits · Week Warrior"))
            #expect(page.contains("Ann kept the Healthy Habits streak alive for 7 days, Jan 3 – Jan 9, 2026."))
            #expect(try await world.share(card.milestoneID, by: Self.ann).shareURL == card.shareURL)
            let error = await #expect(throws: ServiceError.self) { try await world.share(card.milestoneID, by: Self.ben) }
            #expect(error?.code == .notFound, "it is not his")
            let shared = try await world.database.query("SELECT body FROM outbox WHERE subject = \(CardShared.subject)")
                .map { try CardShared(serialized: try $0.decode(as: [UInt8].self)) }
            #expect(shared.map(\.streakID) == [stored.streak], "what is shared extends the social_share streak, and is a figure")

            // Nothing of an account is shown that may not be seen.
            try await world.work.run(trace: "", requestID: "") { work in
                try await OwnerRepository.store(Self.ann, version: 2, isWithheld: true, work.sql)
            }
            #expect(try await world.page(card.shareURL) == nil)
        }
    }

    @Test func `each member of a circle has a card of their own, whose page ends when they leave`() async throws {
        try await withCards { world in
            let facts = facts("🔥", "Runners", "", "green", circle: Self.circle)
            world.neighbours.state.withLock { $0.facts = facts }
            try await world.setCircle(1, [Self.ann, Self.ben])
            let (anns, bens) = (try await world.generate(Self.ann), try await world.generate(Self.ben))
            #expect(anns.milestoneID != bens.milestoneID && anns.shareURL != bens.shareURL)
            let page = try #require(try await world.page(bens.shareURL))
            #expect(page.contains("Ben and Runners kept their streak alive") && !page.contains("Ann"), "\(page)")

            try await world.setCircle(2, [Self.ann])
            #expect(try await world.page(bens.shareURL) == nil)
            #expect(try await world.page(anns.shareURL) != nil)
            #expect(try await world.share(bens.milestoneID, by: Self.ben).shareURL == nil, "he cannot share it any more")
            #expect(try await world.share(anns.milestoneID, by: Self.ann).shareURL == anns.shareURL)

            try await world.setCircle(3, [Self.ann, Self.ben])
            let again = try #require(try await world.share(bens.milestoneID, by: Self.ben).shareURL)
            #expect(again != bens.shareURL, "an address that was withdrawn never works again")
            #expect(try await world.page(again) != nil)

            try await world.setCircle(4, [])
            for address in [anns.shareURL, again] { #expect(try await world.page(address) == nil, "the circle is gone") }
            #expect(try await world.generate(Self.ann).shareURL == nil)
        }
    }

    @Test func `who is no member of the streak gets no card`() async throws {
        try await withCards { world in
            let error = await #expect(throws: ServiceError.self) { try await world.generate(Self.ann) }
            #expect(error?.code == .notFound)
            let rows = try await world.database.query("SELECT 1 FROM milestone_card")
            #expect(rows.isEmpty)
        }
    }
}
