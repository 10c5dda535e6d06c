import BlobStore
import Database
import Kernel
import MediaAPI
import Outbox
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import MediaCore
@testable import MediaPlaces
@testable import Outbox
@testable import ServiceRuntime

/// What reports and moderators' decisions make of posts (SO-8, SO-9).
@Suite(.timeLimit(.minutes(3))) struct ReportedPostTests {
    private func consume(_ world: PlaceWorld, _ event: any Event) async throws {
        let handler = try #require(ModerationConsumers.all.first { $0.subject == type(of: event).subject })
        try await world.mutations.work.run(PlaceWorld.context(nil)) { work in
            let stored = StoredEvent(
                id: work.ids.make(),
                aggregate: "",
                subject: type(of: event).subject,
                trace: "",
                requestID: "",
                body: try event.serialized()
            )
            try await handler.handle(stored, work)
        }
    }

    private func standing(_ version: Int64, hidden: Bool, removed: Bool = false) -> PostStandingChanged {
        PostStandingChanged(postID: PlaceWorld.post(1), version: version, hidden: hidden, removed: removed)
    }

    @Test func `a hidden post is seen by its author only, who sees that it is`() async throws {
        try await PlaceWorld.with { world in
            let id = try await world.pin(1, by: 1, at: 1, 1)
            try await consume(world, standing(1, hidden: true))
            #expect(try await world.find(id) == nil)
            #expect(try await world.find(id, for: nil) == nil)
            #expect(try await world.all(ListPostsRequest(bbox: "0,0,2,2")).isEmpty)
            #expect(try await world.find(id, for: 1)?.hidden == true)
            #expect(try await world.list(ListPostsRequest(mine: true), for: 1).posts.map(\.hidden) == [true])
            #expect(try await world.posts.owner(of: id) == nil, "it is reported no more")
            let queue = ListReportedPosts(posts: world.posts, views: world.views)
            let seen = try await queue.handle(ListReportedPostsRequest(postIDs: [id]), PlaceWorld.context(nil)).posts
            #expect(seen.map(\.hidden) == [true] && seen.first?.photoURL.isEmpty == false, "moderators see it")
            try await consume(world, standing(2, hidden: false))
            #expect(try await world.find(id)?.hidden == false)
            #expect(try await world.posts.owner(of: id) == PlaceWorld.user(1))
        }
    }

    @Test func `links to a post's pictures that were made before reports hid it stop working, and work again`() async throws {
        try await PlaceWorld.with { world in
            let id = try await world.pin(1, by: 1, at: 1, 1)
            let job = ClosedPictures(pictures: ClosedPictureRepository(database: world.database), blobs: world.blobs).job
            func follow() async throws { while try await job.run(world.clock.now()) > 0 {} }
            let keys = PostBlobKeys(user: PlaceWorld.user(1), id: id)
            let renditions = [try keys.display, try keys.thumbnail]
            func isClosed(to viewer: UserID?) async throws -> [Bool] {
                var closed: [Bool] = []
                for key in renditions { closed.append(try await world.blobs.isWithheld(key, from: viewer)) }
                return closed
            }
            for version in [1, 3] as [Int64] {
                try await consume(world, standing(version, hidden: true))
                try await follow()
                for viewer in [nil, PlaceWorld.user(2)] { #expect(try await isClosed(to: viewer) == [true, true]) }
                for viewer in [UserID.moderators, PlaceWorld.user(1)] {
                    #expect(
                        try await isClosed(to: viewer) == [false, false],
                        "moderators, and the author by a link of their own"
                    )
                }
                #expect(try await world.find(id, for: 1)?.photoURL.contains("for=\(PlaceWorld.user(1))") == true)
                let queue = ListReportedPosts(posts: world.posts, views: world.views)
                let seen = try await queue.handle(ListReportedPostsRequest(postIDs: [id]), PlaceWorld.context(nil)).posts
                #expect(seen.first?.photoURL.contains("for=\(UserID.moderators)") == true)
                try await consume(world, standing(version, hidden: true))
                try await consume(world, standing(version + 1, hidden: false))
                try await follow()
                #expect(try await isClosed(to: nil) == [false, false])
                #expect(try await world.count("closed_picture") == 0)
            }
        }
    }

    @Test func `an older decision does not overwrite a newer one`() async throws {
        try await PlaceWorld.with { world in
            let id = try await world.pin(1, by: 1, at: 1, 1)
            try await consume(world, standing(2, hidden: false))
            try await consume(world, standing(1, hidden: true))
            #expect(try await world.find(id)?.hidden == false)
        }
    }

    @Test func `a removed post is gone with its votes and reports, for its author too, and does not come back`() async throws {
        try await PlaceWorld.with { world in
            let id = try await world.pin(1, by: 1, at: 1, 1)
            try await world.vote(.up, on: id, by: 2)
            try await consume(world, report(by: 3))
            try await consume(world, standing(1, hidden: true, removed: true))
            #expect(try await world.find(id, for: 1) == nil)
            #expect(try await world.removal.job.run(world.clock.now()) == 1)
            try await world.countVotes()
            for table in ["place_post", "place_vote", "place_vote_tally", "place_report"] as [Query] {
                #expect(try await world.count(table) == 0, "\(table.text)")
            }
            #expect(try await world.posts.removedBy(id) == PlaceWorld.user(1))
            try await consume(world, report(by: 4))
            #expect(try await world.count("place_report") == 0, "a late report of it leaves nothing")
        }
    }

    @Test func `a post says to its reporter that they have reported it, and to no other`() async throws {
        try await PlaceWorld.with { world in
            let id = try await world.pin(1, by: 1, at: 1, 1)
            for _ in 0..<2 { try await consume(world, report(by: 3)) }
            #expect(try await world.find(id, for: 3)?.reportedByMe == true)
            #expect(try await world.find(id, for: 4)?.reportedByMe == false)
            #expect(try await world.find(id, for: nil)?.reportedByMe == false)
            #expect(try await world.list(ListPostsRequest(bbox: "0,0,2,2"), for: 3).posts.map(\.reportedByMe) == [true])
        }
    }

    private func report(by user: UInt64) -> ReportFiled {
        ReportFiled(
            reportID: ReportID(high: 5, low: user),
            subjectType: .post,
            subjectID: PlaceWorld.post(1).cast(to: Tag.Subject.self),
            ownerID: PlaceWorld.user(1),
            reporters: 1,
            reporterID: PlaceWorld.user(user)
        )
    }
}
