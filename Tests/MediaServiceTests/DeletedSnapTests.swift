import BlobStore
import Database
import Foundation
import Kernel
import MediaAPI
import MediaDomain
import Outbox
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import MediaCore
@testable import MediaSnaps
@testable import Outbox
@testable import ServiceRuntime

/// What becomes of a snap that its author deletes (PH-4).
@Suite(.timeLimit(.minutes(3))) struct DeletedSnapTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)
    private let streak = StreakID(high: 3, low: 3)
    private let snap = SnapID(high: 2, low: 1)
    private let date = CalendarDate(dayNumber: 20_574)

    /// Both have posted for one date.
    private struct World {
        let database: Database
        let mutations: Mutations
        let snaps: SnapRepository
        let blobs: LocalBlobStore
        let views: SnapViews
    }

    private func withPair(_ body: (World) async throws -> Void) async throws {
        try await mediaTemplate.withDatabase(poolSize: 4, adjust: PostgresServer.patient) { database in
            let folder = FileManager.default.temporaryDirectory.appending(path: "snap-tests-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let clock = ManualClock(Instant(seconds: 1_777_600_000))
            let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: SystemClock()), relay: nil)
            let links = try MediaLinks(secret: "a media signing key for the tests of snaps", base: "")
            let world = World(
                database: database,
                mutations: Mutations(work: work, database: database),
                snaps: SnapRepository(database: database),
                blobs: LocalBlobStore(folder: folder.path, minimumFree: 0, logger: PostgresServer.silence),
                views: SnapViews(links: links, clock: clock)
            )
            for (id, user) in [(snap, ann), (SnapID(high: 2, low: 2), ben)] {
                let keys = Self.keys(id, user)
                try await database.execute(
                    """
                    INSERT INTO snap (id, user_id, caption, captured_at, posted_at, on_time, display_key, thumbnail_key, width, height)
                    VALUES (\(id), \(user), 'Breakfast', now(), now(), true, \(keys[0]), \(keys[1]), 10, 10)
                    """
                )
                try await database.execute(
                    "INSERT INTO streak_snap (streak_id, on_date, user_id, snap_id) VALUES (\(streak), \(date), \(user), \(id))"
                )
                for key in keys { try await world.blobs.put(try BlobKey(key), [1, 2, 3]) }
            }
            try await body(world)
        }
    }

    private static func keys(_ id: SnapID, _ user: UserID) -> [String] {
        ["display.jpg", "thumbnail.jpg"].map { "snaps/\(user)/2026-05-01/\(id)/\($0)" }
    }

    private func delete(_ world: World, by user: UserID) async throws -> DeleteSnapReply {
        try await DeleteSnap(mutations: world.mutations).handle(DeleteSnapRequest(photoID: snap), PlaceWorld.context(user)).reply
    }

    private func today(_ world: World, of reader: UserID) async throws -> TodaysSnaps {
        let friend = reader == ann ? ben : ann
        let today = StreakToday(yourDate: date, friendDate: date, openFrom: date, friendNewest: date)
        let found = try await world.snaps.today(of: [AskedStreak(id: streak, friend: friend, today: today)], for: reader)
        return try #require(found.first)
    }

    /// What the jobs do, when a report has had its time.
    private func follow(_ world: World) async throws {
        try await world.database.execute("UPDATE snap SET erase_at = now() WHERE erase_at IS NOT NULL")
        let erasing = DeletedSnaps(snaps: world.snaps, blobs: world.blobs).job
        while try await erasing.run(SystemClock.now()) > 0 {}
        try await close(world)
    }

    private func close(_ world: World) async throws {
        let pictures = ClosedPictureRepository(database: world.database)
        let job = ClosedPictures(pictures: pictures, blobs: world.blobs).job
        while try await job.run(SystemClock.now()) > 0 {}
    }

    private func report(_ world: World) async throws {
        let event = ReportFiled(
            reportID: ReportID(high: 4, low: 4),
            subjectType: .photo,
            subjectID: snap.cast(to: Tag.Subject.self),
            ownerID: ann,
            reporters: 1,
            filedAt: SystemClock.now(),
            reporterID: ben
        )
        try await world.mutations.work.run(PlaceWorld.context(nil)) { work in
            let stored = StoredEvent(
                id: work.ids.make(),
                aggregate: "",
                subject: ReportFiled.subject,
                trace: "",
                requestID: "",
                body: try event.serialized()
            )
            try await ReportedSnaps.handler.handle(stored, work)
        }
    }

    @Test func `it is gone for both at once, the date stays posted for, and what it opened stays open`() async throws {
        try await withPair { world in
            let first = try await delete(world, by: ann)
            #expect(try await delete(world, by: ann) == first, "a repeat changes nothing")
            let (hers, his) = (try await today(world, of: ann), try await today(world, of: ben))
            #expect(hers.yours == nil && hers.isYoursDeleted && hers.friends != nil && !hers.isLocked)
            #expect(his.friends == nil && his.isFriendsDeleted && !his.isLocked && his.yours != nil)
            let history = try await world.snaps.history(of: streak, for: ben, with: ann, before: nil, limit: 10)
            #expect(history.map(\.date) == [date] && history[0].isFriendsDeleted && history[0].friends == nil)
            #expect(history[0].own != nil && !history[0].isOwnDeleted)
            try await close(world)
            for key in Self.keys(snap, ann) {
                for viewer in [nil, ben] { #expect(try await world.blobs.isWithheld(try BlobKey(key), from: viewer)) }
            }
            try await follow(world)
            for key in Self.keys(snap, ann) { #expect(try await world.blobs.info(of: try BlobKey(key)) == nil) }
            for key in Self.keys(SnapID(high: 2, low: 2), ben) {
                #expect(try await world.blobs.info(of: try BlobKey(key)) != nil)
            }
            let caption = try await world.database.query("SELECT caption FROM snap WHERE id = \(snap)").first
            #expect(try caption?.decode(as: String?.self) == nil)
            #expect(try await world.database.query("SELECT 1 FROM closed_picture").isEmpty, "nothing is left to close")
            #expect(try await today(world, of: ben).isFriendsDeleted, "the date stays posted for")
            #expect(try await delete(world, by: ann) == first)
        }
    }

    @Test func `no other user deletes it, or learns whether there is one`() async throws {
        try await withPair { world in
            let other = await #expect(throws: ServiceError.self) { try await delete(world, by: ben) }
            #expect(other?.code == .notFound)
            let his = try await today(world, of: ben)
            #expect(his.friends != nil)
        }
    }

    @Test(arguments: [true, false]) func `what was reported keeps its copy, for moderators only`(isBefore: Bool) async throws {
        try await withPair { world in
            if isBefore { try await report(world) }
            _ = try await delete(world, by: ann)
            if !isBefore { try await report(world) }
            try await follow(world)
            let queue = ListReportedSnaps(snaps: world.snaps, views: world.views)
            let seen = try await queue.handle(ListReportedSnapsRequest(snapIDs: [snap]), PlaceWorld.context(nil)).snaps
            #expect(seen.map(\.deleted) == [true] && seen.first?.snap?.caption == "Breakfast")
            #expect(seen.first?.snap?.photoURL.contains("for=\(UserID.moderators)") == true)
            for key in Self.keys(snap, ann) {
                #expect(try await !world.blobs.isWithheld(try BlobKey(key), from: .moderators))
                #expect(try await world.blobs.isWithheld(try BlobKey(key), from: ben))
                #expect(try await world.blobs.info(of: try BlobKey(key)) != nil)
            }
            #expect(try await today(world, of: ben).isFriendsDeleted)
        }
    }
}
